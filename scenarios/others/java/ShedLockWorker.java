// ShedLock's MongoDB provider, by the protocol of scenarios/WORKERS.md. It does not wait: an acquire is one attempt.
// Its user counts lockAtMostFor by himself, from before the attempt.
import com.mongodb.client.MongoClients;
import java.time.Duration;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.mongo.MongoLockProvider;

public class ShedLockWorker {
  private static final String LIMITS = "&socketTimeoutMS=2000&serverSelectionTimeoutMS=2000";

  private record Holding(SimpleLock lock, long untilNs) implements Serve.Holding {
    @Override public boolean held() {
      return System.nanoTime() < untilNs;
    }

    @Override public String release() {
      lock.unlock(); // it does not say whether it still was the owner
      return "released";
    }
  }

  public static void main(String[] arguments) throws Exception {
    Serve.serve((uri, database, leaseMs) -> {
      var provider = new MongoLockProvider(MongoClients.create(uri + LIMITS).getDatabase(database));
      var lease = Duration.ofMillis(leaseMs);
      return (name, timeoutMs, shared, lost) -> {
        long untilNs = System.nanoTime() + lease.toNanos();
        var asked = new LockConfiguration(ClockProvider.now(), name, lease, Duration.ZERO);
        return provider.lock(asked).map(won -> new Holding(won, untilNs)).orElse(null);
      };
    });
  }
}
