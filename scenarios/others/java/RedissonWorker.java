// Redisson's Lock, or with the argument "fenced" its FencedLock, with "rw" its ReadWriteLock, by the protocol of scenarios/WORKERS.md. Its watchdog
// extends the lease while the process lives, and its user hears of no loss: without asking a server it holds the lock
// until it releases it.
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.Config;

public class RedissonWorker {
  private static final long RETRY_MS = 500;

  private record Holding(RLock lock, long token) implements Serve.Holding {
    @Override public boolean held() {
      return true;
    }

    @Override public String release() {
      try {
        lock.unlock();
        return "released";
      } catch (IllegalMonitorStateException another) { // has it, or it is free
        return "not_owner";
      }
    }
  }

  /** redis://HOST:PORT, or redis-sentinel://HOST:PORT,.../MASTER. It waits for servers that are down. */
  private static RedissonClient connect(String uri, long leaseMs) throws InterruptedException {
    var config = new Config();
    config.setLockWatchdogTimeout(leaseMs);
    String[] parts = uri.substring(uri.indexOf("://") + 3).split("/");
    String[] hosts = Arrays.stream(parts[0].split(",")).map(host -> "redis://" + host).toArray(String[]::new);
    if (uri.startsWith("redis-sentinel:")) {
      config.useSentinelServers().setMasterName(parts[1]).addSentinelAddress(hosts);
    } else {
      config.useSingleServer().setAddress(hosts[0]);
    }
    for (;; Thread.sleep(RETRY_MS)) {
      try {
        return Redisson.create(config);
      } catch (RedisException error) {
        System.err.println(error);
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    boolean fenced = Arrays.asList(arguments).contains("fenced"), rw = Arrays.asList(arguments).contains("rw");
    Serve.serve((uri, database, leaseMs) -> {
      var client = connect(uri, leaseMs);
      return (name, timeoutMs, shared, lost) -> {
        String key = database + ":" + name;
        if (fenced) {
          var lock = client.getFencedLock(key);
          Long token = lock.tryLockAndGetToken(timeoutMs, TimeUnit.MILLISECONDS);
          return token == null ? null : new Holding(lock, token);
        }
        var both = client.getReadWriteLock(key);
        RLock lock = !rw ? client.getLock(key) : shared ? both.readLock() : both.writeLock();
        return lock.tryLock(timeoutMs, TimeUnit.MILLISECONDS) ? new Holding(lock, 0) : null;
      };
    });
  }
}
