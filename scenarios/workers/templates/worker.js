// A worker in Node.js, by the protocol of scenarios/WORKERS.md: put your own lock in place of Lock.
// npm install mongodb@6; the command is: node worker.js
const { MongoClient } = require('mongodb');
const { randomUUID } = require('crypto');
const { createInterface } = require('readline');

const now = () => process.hrtime.bigint() / 1000n; // CLOCK_MONOTONIC, in µs
const pause = (ms) => new Promise((wake) => setTimeout(wake, ms));

class Lock {
  constructor(uri, database, leaseMs) {
    const client = new MongoClient(uri, { socketTimeoutMS: 2000, serverSelectionTimeoutMS: 2000 });
    this.locks = client.db(database).collection('node.locks', { writeConcern: { w: 'majority' } });
    this.leaseMs = leaseMs;
  }
  async tryOnce(name) {
    const owner = randomUUID(), sent = now();
    const fresh = { $setOnInsert: { expires: new Date(0) } };
    await this.locks.updateOne({ _id: name }, fresh, { upsert: true });
    const won = await this.locks.updateOne(
      { _id: name, $expr: { $lt: ['$expires', '$$NOW'] } },
      [{ $set: { owner, expires: { $add: ['$$NOW', this.leaseMs] } } }]);
    return won.modifiedCount ? { name, owner, until: sent + BigInt(this.leaseMs) * 1000n } : null;
  }
  async acquire(name, timeoutMs) {
    const end = now() + BigInt(timeoutMs) * 1000n;
    for (;;) {
      const holding = await this.tryOnce(name);
      if (holding || now() >= end) return holding;
      await pause(100);
    }
  }
  held(holding) { return now() < holding.until; }
  async release({ name, owner }) {
    const free = { $set: { owner: null, expires: new Date(0) } };
    const freed = await this.locks.updateOne({ _id: name, owner }, free);
    return freed.modifiedCount ? 'released' : 'not_owner';
  }
}

let lock, holdings = new Map();
const say = (answer) => process.stdout.write(JSON.stringify(answer) + '\n');

createInterface({ input: process.stdin }).on('line', async (line) => {
  const asked = JSON.parse(line), { id } = asked, at_ns = String(process.hrtime.bigint());
  if (asked.do === 'start') {
    lock = new Lock(asked.uri, asked.database, asked.lease_ms);
    say({ is: 'ready' });
  } else if (asked.do === 'acquire') {
    try {
      const holding = await lock.acquire(asked.name, asked.timeout_ms);
      holdings.set(id, holding);
      say({ id, is: holding ? 'granted' : asked.timeout_ms ? 'timed_out' : 'refused' });
    } catch (error) { say({ id, is: 'failed', why: error.message }); }
  } else if (asked.do === 'ask') {
    say({ id, is: lock.held(holdings.get(id)) ? 'held' : 'not_held', at_ns });
  } else if (asked.do === 'release') {
    say({ id, is: await lock.release(holdings.get(id)).catch(() => 'unknown') });
  } else if (asked.do === 'stop') { process.exit(0); }
}).on('close', () => process.exit(0));
