//! The protocol of scenarios/WORKERS.md for a lock in Rust. Holdings live in threads of their own.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, Write, stdin, stdout};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub struct Start {
    pub uri: String,
    pub database: String,
    pub lease: Duration,
}

pub trait Lock: Send + Sync + 'static {
    type Holding: Send;
    fn start(start: Start) -> Self;
    /// Nothing: another has it. A timeout of 0 means one attempt.
    fn acquire(&self, name: &str, timeout: Duration) -> Result<Option<Self::Holding>, String>;
    fn held(&self, holding: &Self::Holding) -> bool;
    /// "released", "not_owner" or "unknown".
    fn release(&self, holding: Self::Holding) -> &'static str;
}

fn say(answer: Value) {
    let mut out = stdout().lock();
    let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
}

/// Answers until it is asked to stop.
pub fn serve<L: Lock>() {
    let mut lock: Option<Arc<L>> = None;
    let holdings: Arc<Mutex<HashMap<i64, L::Holding>>> = Arc::default();
    for line in stdin().lock().lines().map_while(Result::ok) {
        let asked: Value = serde_json::from_str(&line).expect("a line of the protocol");
        let (id, text) = (asked["id"].as_i64().unwrap_or(0), |field: &str| {
            asked[field].as_str().unwrap_or("").to_string()
        });
        let ms = |field: &str| Duration::from_millis(asked[field].as_u64().unwrap_or(0));
        let (own, kept) = (lock.clone(), holdings.clone());
        match asked["do"].as_str().unwrap_or("") {
            "start" => {
                let (uri, database) = (text("uri"), text("database"));
                lock = Some(Arc::new(L::start(Start { uri, database, lease: ms("lease_ms") })));
                say(json!({"is": "ready"}));
            }
            "acquire" => {
                let (own, name, timeout) = (own.expect("a start"), text("name"), ms("timeout_ms"));
                thread::spawn(move || match own.acquire(&name, timeout) {
                    Ok(Some(holding)) => {
                        kept.lock().unwrap().insert(id, holding);
                        say(json!({"id": id, "is": "granted"}));
                    }
                    Ok(None) if timeout.is_zero() => say(json!({"id": id, "is": "refused"})),
                    Ok(None) => say(json!({"id": id, "is": "timed_out"})),
                    Err(why) => say(json!({"id": id, "is": "failed", "why": why})),
                });
            }
            "ask" => {
                let held = own.expect("a start").held(&kept.lock().unwrap()[&id]);
                say(json!({"id": id, "is": if held { "held" } else { "not_held" }}));
            }
            "release" => {
                let holding = kept.lock().unwrap().remove(&id).expect("a grant");
                let own = own.expect("a start");
                thread::spawn(move || say(json!({"id": id, "is": own.release(holding)})));
            }
            _ => return,
        }
    }
}
