// A worker in Java, by the protocol of scenarios/WORKERS.md: put your own lock between the marks.
import com.mongodb.client.*; import com.mongodb.client.model.*;
import java.util.*; import java.util.concurrent.*;
import org.bson.Document;
public class Worker {
  // >>> YOUR LOCK: connects; makes one attempt; says whether it is held; releases
  record Holding(String name, String owner, long untilNs) {}
  static MongoCollection<Document> locks; static long leaseMs;
  static void connect(Document start) {
    var limits = "&socketTimeoutMS=2000&serverSelectionTimeoutMS=2000";
    var client = MongoClients.create(start.getString("uri") + limits);
    locks = client.getDatabase(start.getString("database")).getCollection("java.locks");
    leaseMs = start.getInteger("lease_ms");
  }
  static Holding attempt(String name) { // null: somebody else has it
    var owner = UUID.randomUUID().toString();
    var untilNs = System.nanoTime() + leaseMs * 1_000_000;
    var free = new Document("$lt", List.of("$expires", "$$NOW")); // or there is none
    var mine = new Document(Map.of("_id", "$_id", "owner", owner,
        "expires", new Document("$add", List.of("$$NOW", leaseMs))));
    var taken = new Document("$replaceWith", new Document("$cond", List.of(free, mine, "$$ROOT")));
    var after = new FindOneAndUpdateOptions().upsert(true).returnDocument(ReturnDocument.AFTER);
    var found = locks.findOneAndUpdate(new Document("_id", name), List.of(taken), after);
    return owner.equals(found.getString("owner")) ? new Holding(name, owner, untilNs) : null;
  }
  static boolean held(Holding own) { return System.nanoTime() < own.untilNs; }
  static boolean release(Holding own) {
    var mine = new Document(Map.of("_id", own.name, "owner", own.owner));
    return locks.deleteOne(mine).getDeletedCount() > 0;
  }
  // <<< YOUR LOCK
  static final Map<Object, Holding> holdings = new ConcurrentHashMap<>();
  static String acquire(Object id, String name, long timeoutMs) throws InterruptedException {
    for (var end = System.nanoTime() + timeoutMs * 1_000_000;; Thread.sleep(100)) {
      var won = attempt(name);
      if (won != null) { holdings.put(id, won); return "granted"; }
      if (System.nanoTime() >= end) return timeoutMs > 0 ? "timed_out" : "refused";
    }
  }
  static void answer(Document asked) {
    Object id = asked.get("id", 0), atNs = System.nanoTime(), is;
    try {
      is = switch (asked.getString("do")) {
        case "start" -> { connect(asked); yield "ready"; }
        case "acquire" -> acquire(id, asked.getString("name"), asked.getInteger("timeout_ms"));
        case "ask" -> held(holdings.get(id)) ? "held" : "not_held";
        default -> release(holdings.get(id)) ? "released" : "not_owner";
      };
    } catch (Exception error) {
      is = asked.getString("do").equals("acquire") ? "failed" : "unknown";
    }
    System.out.println(new Document("id", id).append("is", is).append("at_ns", atNs).toJson());
  }
  public static void main(String[] arguments) {
    var questions = new Scanner(System.in).useDelimiter("\n").tokens().map(Document::parse);
    questions.takeWhile(asked -> !asked.getString("do").equals("stop"))
        .forEach(asked -> new Thread(() -> answer(asked)).start());
    System.exit(0);
  }
}
