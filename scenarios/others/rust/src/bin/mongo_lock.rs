//! mongo-lock 0.3: its user counts the time to live from before the attempt, and drops the lock.

use mongodb_v2::sync::Client;
use others::{Lock, Start, serve};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

struct Crate {
    mongo: Client,
    lease: Duration,
    prepared: AtomicBool,
}

impl Lock for Crate {
    type Holding = (mongo_lock::Lock, Instant);

    /// Its documents are in the database of the URI, or else in one that nobody drops.
    fn start(start: Start) -> Self {
        let uri = start.uri.replacen("/?", &format!("/{}?", start.database), 1);
        let mongo = Client::with_uri_str(uri + "&serverSelectionTimeoutMS=2000").expect("a client");
        Crate { mongo, lease: start.lease, prepared: AtomicBool::new(false) }
    }

    fn acquire(&self, name: &str, timeout: Duration) -> Result<Option<Self::Holding>, String> {
        let pause = Duration::from_millis(100);
        let end = Instant::now() + timeout;
        if !self.prepared.load(SeqCst) {
            mongo_lock::prepare_database(&self.mongo).map_err(|error| error.to_string())?;
            self.prepared.store(true, SeqCst);
        }
        loop {
            let sent = Instant::now();
            let won = mongo_lock::Lock::try_acquire(&self.mongo, name, self.lease);
            match won.map_err(|error| error.to_string())? {
                Some(lock) => return Ok(Some((lock, sent + self.lease))),
                None if Instant::now() >= end => return Ok(None),
                None => std::thread::sleep(pause),
            }
        }
    }

    fn held(&self, holding: &Self::Holding) -> bool {
        Instant::now() < holding.1
    }

    fn release(&self, holding: Self::Holding) -> &'static str {
        drop(holding.0); // whether it found anything is not told
        "released"
    }
}

fn main() {
    serve::<Crate>();
}
