// Curator's InterProcessMutex on ZooKeeper, or with the argument "rw" its InterProcessReadWriteLock, by the protocol of scenarios/WORKERS.md. Its documentation recommends a
// ConnectionStateListener: after SUSPENDED its user cannot be certain to hold the lock, so SUSPENDED and LOST are both
// a loss here. The session's time-out is the lease; the server may make it longer.
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.curator.retry.ExponentialBackoffRetry;

public class CuratorWorker {
  private static final int BASE_SLEEP_MS = 1000, MAX_RETRIES = 3; // of the retry policy in its documentation

  private record Holding(InterProcessMutex mutex, AtomicBoolean over, Losses losses) implements Serve.Holding {
    @Override public boolean held() {
      return !over.get();
    }

    @Override public String release() throws Exception {
      boolean was = !over.getAndSet(true);
      losses.held.remove(over);
      mutex.release();
      return was ? "released" : "not_owner";
    }
  }

  /** All holdings are lost with the connection. */
  private static final class Losses implements ConnectionStateListener {
    final Map<AtomicBoolean, Runnable> held = new ConcurrentHashMap<>(); // by whether it is over
    volatile boolean connected = true;

    @Override public void stateChanged(CuratorFramework client, ConnectionState state) {
      connected = !EnumSet.of(ConnectionState.SUSPENDED, ConnectionState.LOST).contains(state);
      if (!connected) held.forEach(Losses::lose);
    }

    private static void lose(AtomicBoolean over, Runnable lost) {
      if (!over.getAndSet(true)) lost.run();
    }

    Holding watched(InterProcessMutex mutex, Runnable lost) {
      var over = new AtomicBoolean();
      held.put(over, lost);
      if (!connected) lose(over, lost);
      return new Holding(mutex, over, this);
    }
  }

  private static CuratorFramework connect(String uri, long leaseMs) throws InterruptedException {
    var client = CuratorFrameworkFactory.builder().connectString(uri.replaceFirst("^zookeeper://", ""))
        .sessionTimeoutMs((int) leaseMs).connectionTimeoutMs((int) leaseMs)
        .retryPolicy(new ExponentialBackoffRetry(BASE_SLEEP_MS, MAX_RETRIES)).build();
    client.start();
    client.blockUntilConnected();
    return client;
  }

  public static void main(String[] arguments) throws Exception {
    boolean rw = Arrays.asList(arguments).contains("rw");
    Serve.serve((uri, database, leaseMs) -> {
      var client = connect(uri, leaseMs);
      var losses = new Losses();
      client.getConnectionStateListenable().addListener(losses);
      return (name, timeoutMs, shared, lost) -> {
        String path = "/" + database + "/" + name;
        var both = rw ? new InterProcessReadWriteLock(client, path) : null;
        var mutex = !rw ? new InterProcessMutex(client, path) : shared ? both.readLock() : both.writeLock();
        return mutex.acquire(timeoutMs, TimeUnit.MILLISECONDS) ? losses.watched(mutex, lost) : null;
      };
    });
  }
}
