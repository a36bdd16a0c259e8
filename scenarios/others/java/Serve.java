// The protocol of scenarios/WORKERS.md for a lock in Java. Each acquire has a thread of its own, and that thread
// releases, too, because many locks in Java belong to a thread.
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.bson.Document;

final class Serve {
  /** A lock that was won. */
  interface Holding {
    /** What its user would hear now; asks no server. */
    boolean held();

    /** "released" or "not_owner"; what it throws is answered with "unknown". */
    String release() throws Exception;

    /** The fencing token; 0: it has none. */
    default long token() {
      return 0;
    }
  }

  /** A client with its connection. */
  interface Lock {
    /**
     * Null: another has it. `lost` is to be run at most once, if the lock can tell that it lost this holding. What it
     * throws is answered with "failed". A lock that has no `shared` ignores it.
     */
    Holding acquire(String name, long timeoutMs, boolean shared, Runnable lost) throws Exception;
  }

  /** Connects. */
  interface Start {
    Lock start(String uri, String database, long leaseMs) throws Exception;
  }

  private record Call(ExecutorService thread, Holding holding) {}

  private final Map<Object, Call> calls = new ConcurrentHashMap<>();
  private Lock lock;

  private static void say(Object id, String is, long atNs, Object... more) {
    var said = new Document("id", id).append("is", is).append("at_ns", atNs);
    for (int i = 0; i < more.length; i += 2) said.append((String) more[i], more[i + 1]);
    System.out.println(said.toJson());
  }

  private void acquire(Document asked, Object id, long askedNs, ExecutorService thread) {
    int timeoutMs = asked.getInteger("timeout_ms");
    var granted = new CompletableFuture<Void>(); // a loss is said after it
    Runnable lost = () -> granted.thenRun(() -> say(id, "lost", System.nanoTime()));
    try {
      Holding won = lock.acquire(asked.getString("name"), timeoutMs, asked.getBoolean("shared", false), lost);
      if (won == null) {
        thread.shutdown();
        boolean waited = timeoutMs > 0 && System.nanoTime() - askedNs >= timeoutMs * 1_000_000L;
        say(id, waited ? "timed_out" : "refused", askedNs);
        return;
      }
      calls.put(id, new Call(thread, won));
      say(id, "granted", askedNs, won.token() > 0 ? new Object[] {"token", won.token()} : new Object[0]);
      granted.complete(null);
    } catch (Exception error) {
      thread.shutdown();
      say(id, "failed", askedNs, "why", error.toString());
    }
  }

  private void release(Object id) {
    Call call = calls.remove(id);
    call.thread.execute(() -> {
      long atNs = System.nanoTime();
      try {
        say(id, call.holding.release(), atNs);
      } catch (Exception error) {
        say(id, "unknown", atNs, "why", error.toString());
      }
    });
    call.thread.shutdown();
  }

  private void answer(Document asked, Start start) throws Exception {
    Object id = asked.get("id", 0);
    long atNs = System.nanoTime(); // CLOCK_MONOTONIC
    switch (asked.getString("do")) {
      case "start" -> {
        lock = start.start(asked.getString("uri"), asked.getString("database"), asked.getInteger("lease_ms"));
        say(id, "ready", atNs);
      }
      case "acquire" -> {
        var thread = Executors.newSingleThreadExecutor();
        thread.execute(() -> acquire(asked, id, atNs, thread));
      }
      case "ask" -> {
        Call call = calls.get(id); // null: it is being released
        say(id, call != null && call.holding.held() ? "held" : "not_held", atNs);
      }
      default -> release(id);
    }
  }

  /** Until it is asked to stop; then the program ends. */
  static void serve(Start start) throws Exception {
    var serve = new Serve();
    var lines = new Scanner(System.in).useDelimiter("\n");
    while (lines.hasNext()) {
      var asked = Document.parse(lines.next());
      if (asked.getString("do").equals("stop")) break;
      serve.answer(asked, start);
    }
    Runtime.getRuntime().halt(0);
  }
}
