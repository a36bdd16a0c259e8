//! distributed-lock-mongo 0.2: its user hears of a loss by the handle's `lost_token`.

use distributed_lock_core::error::LockError;
use distributed_lock_core::traits::{DistributedLock, LockHandle};
use distributed_lock_mongo::handle::MongoLockHandle;
use distributed_lock_mongo::{MongoDistributedLock, MongoDistributedLockOptions};
use mongodb::{Client, Database};
use others::{Lock, Start, serve};
use std::time::Duration;
use tokio::runtime::Runtime;

struct Crate {
    runtime: Runtime,
    database: Database,
    lease: Duration,
}

impl Lock for Crate {
    type Holding = MongoLockHandle;

    fn start(start: Start) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let uri = start.uri + "&serverSelectionTimeoutMS=2000";
        let client = runtime.block_on(Client::with_uri_str(uri)).expect("a client");
        Crate { runtime, database: client.database(&start.database), lease: start.lease }
    }

    fn acquire(&self, name: &str, timeout: Duration) -> Result<Option<Self::Holding>, String> {
        let options = MongoDistributedLockOptions {
            expiry: self.lease,
            extension_cadence: self.lease / 3,
            ..Default::default()
        };
        let lock =
            MongoDistributedLock::new(name.into(), self.database.clone(), None, Some(options));
        let acquired = self.runtime.block_on(async {
            match timeout.is_zero() {
                true => lock.try_acquire().await,
                false => lock.acquire(Some(timeout)).await.map(Some),
            }
        });
        match acquired {
            Err(LockError::Timeout(_)) => Ok(None),
            other => other.map_err(|error| error.to_string()),
        }
    }

    fn held(&self, holding: &Self::Holding) -> bool {
        !*holding.lost_token().borrow()
    }

    fn release(&self, holding: Self::Holding) -> &'static str {
        match self.runtime.block_on(holding.release()) {
            Ok(()) => "released", // it does not say whether it was still the owner
            Err(_) => "unknown",
        }
    }
}

fn main() {
    serve::<Crate>();
}
