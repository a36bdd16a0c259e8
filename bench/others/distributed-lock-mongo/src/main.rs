//! Clients of `leasehold-bench contend` that lock with the crate distributed-lock-mongo at its
//! defaults. The order is the argument, as JSON; see "A client in another language" in
//! bench/README.md. Knows one lock, constant and exponential holdings, closed and open arrivals.

use crate_under_test::MongoDistributedLock;
use distributed_lock_core::error::LockError;
use distributed_lock_core::traits::{DistributedLock, LockHandle};
use mongodb::event::{EventHandler, command::CommandEvent};
use mongodb::{Client, options::ClientOptions};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::BufRead;
use std::sync::{Arc, Mutex, atomic::AtomicI64, atomic::Ordering::SeqCst};
use std::time::Duration;

const WRITES: [&str; 5] = ["findAndModify", "update", "delete", "insert", "createIndexes"];

fn boot_ns() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid, and the clock exists since Linux 2.6.39.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// SplitMix64.
struct Random(u64);

impl Random {
    /// Uniform in (0, 1].
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((z ^ (z >> 31)) >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[derive(Clone, Copy)]
struct Load {
    hold_ns: f64,
    hold_varies: bool,
    pause_ns: f64,
    open: bool,
    begin_ns: i64,
    end_ns: i64,
    given_up_ns: i64,
}

fn duration_ns(text: &str) -> Result<f64, String> {
    let (number, unit) = match text {
        t if t.ends_with("ms") => (&t[..t.len() - 2], 1e6),
        t if t.ends_with('s') => (&t[..t.len() - 1], 1e9),
        t => (t, 1e9),
    };
    number.parse::<f64>().map(|n| n * unit).map_err(|_| format!("'{text}' is no time"))
}

impl Load {
    fn parse(order: &Value) -> Result<Load, String> {
        let load = &order["load"];
        let text = |name: &str| load[name].as_str().unwrap_or("").to_string();
        let ns = |name: &str| load[name].as_i64().unwrap_or(0) * 1_000_000;
        if text("locks") != "one" || load["callers"] != json!(1) {
            return Err("this client knows one lock and one caller a client".into());
        }
        let (kind, mean) = match text("hold").split_once(':') {
            Some((kind, mean)) => (kind.to_string(), duration_ns(mean)?),
            None => (text("hold"), 0.0),
        };
        if kind != "constant" && kind != "exponential" {
            return Err("this client knows constant and exponential holdings".into());
        }
        let arrivals = text("arrivals");
        let open = arrivals.starts_with("open:");
        if !open && !arrivals.starts_with("closed") {
            return Err("this client knows closed and open arrivals".into());
        }
        Ok(Load {
            hold_ns: mean,
            hold_varies: kind == "exponential",
            pause_ns: arrivals.strip_prefix("closed:").map_or(Ok(1e8), duration_ns)?,
            open,
            begin_ns: -ns("warm_up_ms"),
            end_ns: ns("measured_ms"),
            given_up_ns: ns("measured_ms") + ns("drain_ms"),
        })
    }
}

/// What all clients of this process share.
struct Shared {
    load: Load,
    start_ns: AtomicI64,
    arrivals: Mutex<(Random, f64)>, // the open loop's next arrival
    apart_ns: f64,
    result: Mutex<Outcome>,
}

#[derive(Default)]
struct Outcome {
    samples: Vec<Value>,
    writes: i64,
    reads: i64,
    attempts: BTreeMap<i64, i64>,
}

impl Shared {
    fn now(&self) -> i64 {
        boot_ns() - self.start_ns.load(SeqCst)
    }

    fn count(&self, command: &str) {
        let at = self.now();
        if at < 0 || at >= self.load.end_ns {
            return;
        }
        let mut result = self.result.lock().unwrap();
        match WRITES.contains(&command) {
            true => result.writes += 1,
            false => result.reads += 1,
        }
        if command == "findAndModify" {
            *result.attempts.entry(at / 1_000_000_000).or_default() += 1;
        }
    }

    fn next_at(&self, random: &mut Random) -> i64 {
        if !self.load.open {
            return self.now() + (random.share() * self.load.pause_ns) as i64;
        }
        let mut arrivals = self.arrivals.lock().unwrap();
        arrivals.1 -= arrivals.0.share().ln() * self.apart_ns;
        arrivals.1 as i64
    }
}

async fn sleep_ns(ns: i64) {
    if ns > 0 {
        tokio::time::sleep(Duration::from_nanos(ns as u64)).await;
    }
}

fn lock_of(client: &Client, database: &str, name: &str) -> MongoDistributedLock {
    MongoDistributedLock::new(name.to_string(), client.database(database), None, None)
}

async fn connect(uri: &str, shared: &Arc<Shared>) -> Result<Client, Box<dyn Error>> {
    let mut options = ClientOptions::parse(uri).await?;
    let counting = shared.clone();
    options.command_event_handler = Some(EventHandler::callback(move |event| {
        if let CommandEvent::Started(started) = event {
            counting.count(&started.command_name);
        }
    }));
    Ok(Client::with_options(options)?)
}

/// Asks, holds and releases until the time is over.
async fn run(shared: Arc<Shared>, lock: MongoDistributedLock, number: i64, seed: u64) {
    let load = shared.load;
    let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
    sleep_ns(load.begin_ns - shared.now()).await;
    loop {
        let at = shared.next_at(&mut random);
        if at >= load.end_ns {
            return;
        }
        sleep_ns(at - shared.now()).await;
        let asked = if load.open { at } else { shared.now() };
        let mut sample = json!([number, 0, asked, null, null]);
        // Beside many others an attempt may fail with a duplicate key: a user asks again.
        let handle = loop {
            let left = Duration::from_nanos((load.given_up_ns - shared.now()).max(0) as u64);
            match lock.acquire(Some(left)).await {
                Ok(handle) => break Some(handle),
                Err(LockError::Timeout(_)) => break None,
                Err(_) if left.is_zero() => break None,
                Err(_) => {}
            }
        };
        if let Some(handle) = handle {
            sample[3] = json!(shared.now());
            let times = if load.hold_varies { -random.share().ln() } else { 1.0 };
            sleep_ns((load.hold_ns * times) as i64).await;
            sample[4] = json!(shared.now());
            let _ = handle.release().await;
        }
        shared.result.lock().unwrap().samples.push(sample);
    }
}

async fn obey(order: &Value) -> Result<Outcome, Box<dyn Error>> {
    let load = Load::parse(order)?;
    let uri = order["uri"].as_str().ok_or("no uri")?;
    let database = order["database"].as_str().ok_or("no database")?;
    let first = order["first_client"].as_i64().unwrap_or(0);
    let seed = order["load"]["seed"].as_u64().unwrap_or(1);
    let shared = Arc::new(Shared {
        load,
        start_ns: AtomicI64::new(i64::MAX),
        arrivals: Mutex::new((Random(!seed.wrapping_add(first as u64)), load.begin_ns as f64)),
        apart_ns: 1e9 / order["arrivals_per_s"].as_f64().unwrap_or(0.0),
        result: Mutex::default(),
    });
    let mut locks = Vec::new();
    for number in first..first + order["clients"].as_i64().unwrap_or(1) {
        let client = connect(uri, &shared).await?;
        let own = lock_of(&client, database, &format!("client-{number}"));
        own.acquire(Some(Duration::from_secs(20))).await?.release().await?;
        locks.push((number, lock_of(&client, database, "contended-0")));
    }
    println!("ready");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    shared.start_ns.store(line.trim().parse()?, SeqCst);
    let running: Vec<_> = locks
        .into_iter()
        .map(|(number, lock)| tokio::spawn(run(shared.clone(), lock, number, seed)))
        .collect();
    for one in running {
        one.await?;
    }
    Ok(std::mem::take(&mut *shared.result.lock().unwrap()))
}

#[tokio::main]
async fn main() {
    let argument = std::env::args().nth(1).unwrap_or_default();
    let done = match serde_json::from_str(&argument) {
        Ok(order) => obey(&order).await,
        Err(error) => Err(error.into()),
    };
    let (outcome, error) = match done {
        Ok(outcome) => (outcome, String::new()),
        Err(error) => (Outcome::default(), error.to_string()),
    };
    let attempts: Vec<_> = outcome.attempts.iter().collect();
    println!("{}", json!({"samples": outcome.samples, "writes": outcome.writes, "reads": outcome.reads,
                          "attempts": attempts, "error": error}));
}
