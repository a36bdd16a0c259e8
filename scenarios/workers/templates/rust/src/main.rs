//! A worker in Rust, by the protocol of scenarios/WORKERS.md: put your own lock between the marks.
use mongodb::bson::{doc, oid::ObjectId, Document};
use mongodb::{error::Result, options::ReturnDocument, sync::Client, sync::Collection};
use serde_json::{json, Value};
use std::{collections::HashMap, io::stdin, sync::*, thread, time::*};
// >>> YOUR LOCK: connects; makes one attempt; says whether it is held; releases
type Holding = (String, String, Instant);
struct Lock(Collection<Document>, i64);
impl Lock {
    fn connect(start: &Value) -> Lock {
        let uri = text(start, "uri").to_string() + "&serverSelectionTimeoutMS=2000";
        let client = Client::with_uri_str(uri).expect("a client");
        let locks = client.database(text(start, "database")).collection("rust.locks");
        Lock(locks, start["lease_ms"].as_i64().unwrap())
    }
    fn attempt(&self, name: &str) -> Result<Option<Holding>> {
        let (owner, until) = (ObjectId::new().to_hex(), Instant::now() + ms(self.1));
        let mine = doc! {"_id": "$_id", "owner": &owner, "expires": {"$add": ["$$NOW", self.1]}};
        let free = doc! {"$lt": ["$expires", "$$NOW"]}; // or there is none
        let taken = vec![doc! {"$replaceWith": {"$cond": [free, mine, "$$ROOT"]}}];
        let found = self.0.find_one_and_update(doc! {"_id": name}, taken).upsert(true);
        let found = found.return_document(ReturnDocument::After).run()?.unwrap_or_default();
        Ok((found.get_str("owner") == Ok(&owner)).then(|| (name.into(), owner, until)))
    }
    fn held(&self, holding: &Holding) -> bool { Instant::now() < holding.2 }
    fn release(&self, (name, owner, _): Holding) -> &'static str {
        let freed = self.0.delete_one(doc! {"_id": name, "owner": owner}).run();
        freed.map_or("unknown", |f| ["not_owner", "released"][f.deleted_count as usize])
    }
}
// <<< YOUR LOCK
fn acquire(lock: &Lock, name: &str, timeout_ms: Option<i64>) -> Result<Option<Holding>> {
    let (mut won, end) = (lock.attempt(name)?, Instant::now() + ms(timeout_ms.unwrap()));
    while won.is_none() && Instant::now() < end {
        thread::sleep(ms(100)); won = lock.attempt(name)?;
    }
    Ok(won)
}
fn ms(number: i64) -> Duration { Duration::from_millis(number as u64) }
fn text<'a>(asked: &'a Value, field: &str) -> &'a str { asked[field].as_str().unwrap() }
fn answer(lock: &Lock, all: &Mutex<HashMap<Value, Holding>>, asked: Value) {
    let holding = all.lock().unwrap().get(&asked["id"]).cloned();
    println!("{}", json!({"id": asked["id"], "is": match (holding, text(&asked, "do")) {
        (None, _) => match acquire(lock, text(&asked, "name"), asked["timeout_ms"].as_i64()) {
            Ok(Some(won)) => { all.lock().unwrap().insert(asked["id"].clone(), won); "granted" }
            Ok(None) => if asked["timeout_ms"] == 0 { "refused" } else { "timed_out" },
            Err(_) => "failed",
        },
        (Some(own), "ask") => if lock.held(&own) { "held" } else { "not_held" },
        (Some(own), _) => lock.release(own),
    }}));
}
fn main() {
    let mut questions = stdin().lines().map(|line| line.unwrap().parse::<Value>().unwrap());
    let own = (Lock::connect(&questions.next().unwrap()), Mutex::default());
    let own = &*Box::leak(Box::new(own));
    println!("{}", json!({"is": "ready"}));
    let questions = questions.take_while(|asked| asked["do"] != "stop");
    questions.for_each(|asked| drop(thread::spawn(move || answer(&own.0, &own.1, asked))));
}
