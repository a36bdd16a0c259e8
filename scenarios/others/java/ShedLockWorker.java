// ShedLock's MongoDB provider, by the protocol of scenarios/WORKERS.md. It does not wait: an acquire is one attempt.
// Its user counts lockAtMostFor by himself, from before the attempt.
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoDatabase;
import java.time.Duration;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ConcurrentHashMap;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.mongo.MongoLockProvider;
import org.bson.Document;

public class ShedLockWorker {
  private static final String LIMITS = "&socketTimeoutMS=2000&serverSelectionTimeoutMS=2000";

  private record Holding(SimpleLock lock, long untilNs) {}

  private final Map<Object, Holding> holdings = new ConcurrentHashMap<>();
  private LockProvider provider;
  private Duration lease;

  private void start(Document order) {
    MongoDatabase database =
        MongoClients.create(order.getString("uri") + LIMITS).getDatabase(order.getString("database"));
    provider = new MongoLockProvider(database);
    lease = Duration.ofMillis(order.getInteger("lease_ms"));
  }

  private String acquire(Object id, String name) {
    long untilNs = System.nanoTime() + lease.toNanos();
    var asked = new LockConfiguration(ClockProvider.now(), name, lease, Duration.ZERO);
    var lock = provider.lock(asked);
    lock.ifPresent(won -> holdings.put(id, new Holding(won, untilNs)));
    return lock.isPresent() ? "granted" : "refused";
  }

  private String release(Object id) {
    holdings.get(id).lock.unlock(); // it does not say whether it still was the owner
    return "released";
  }

  private String words(Document asked, Object id) {
    switch (asked.getString("do")) {
      case "start":
        start(asked);
        return "ready";
      case "acquire":
        return acquire(id, asked.getString("name"));
      case "ask":
        return System.nanoTime() < holdings.get(id).untilNs ? "held" : "not_held";
      default:
        return release(id);
    }
  }

  private void answer(Document asked) {
    Object id = asked.get("id", 0);
    long atNs = System.nanoTime(); // CLOCK_MONOTONIC
    var said = new Document("id", id);
    try {
      said.append("is", words(asked, id));
    } catch (RuntimeException error) {
      said.append("is", asked.getString("do").equals("release") ? "unknown" : "failed");
      said.append("why", error.toString());
    }
    System.out.println(said.append("at_ns", atNs).toJson());
  }

  public static void main(String[] arguments) {
    var worker = new ShedLockWorker();
    new Scanner(System.in).useDelimiter("\n").tokens().map(Document::parse)
        .takeWhile(asked -> !asked.getString("do").equals("stop"))
        .forEach(asked -> new Thread(() -> worker.answer(asked)).start());
    System.exit(0);
  }
}
