// A worker in Node.js, by the protocol of scenarios/WORKERS.md: your own lock between the marks.
const { MongoClient } = require('mongodb');
const { randomUUID } = require('crypto');
const { createInterface } = require('readline');

const nowNs = () => process.hrtime.bigint(); // CLOCK_MONOTONIC
const pause = (ms) => new Promise((wake) => setTimeout(wake, ms));

// >>> YOUR LOCK: connects; makes one attempt; says whether it is held; releases
class Lock {
  constructor(uri, database, leaseMs) {
    const client = new MongoClient(uri, { socketTimeoutMS: 2000, serverSelectionTimeoutMS: 2000 });
    this.locks = client.db(database).collection('node.locks', { writeConcern: { w: 'majority' } });
    this.leaseMs = leaseMs;
  }
  async attempt(name) { // null: somebody else has it
    const owner = randomUUID(), untilNs = nowNs() + BigInt(this.leaseMs) * 1000000n;
    const free = { $lt: ['$expires', '$$NOW'] }; // or there is none
    const mine = { _id: '$_id', owner, expires: { $add: ['$$NOW', this.leaseMs] } };
    const taken = [{ $replaceWith: { $cond: [free, mine, '$$ROOT'] } }];
    const after = { upsert: true, returnDocument: 'after' };
    const found = await this.locks.findOneAndUpdate({ _id: name }, taken, after);
    return found.owner === owner ? { name, owner, untilNs } : null;
  }
  held(holding) { return nowNs() < holding.untilNs; }
  async release({ name, owner }) {
    const freed = await this.locks.deleteOne({ _id: name, owner });
    return freed.deletedCount ? 'released' : 'not_owner';
  }
}
// <<< YOUR LOCK

let lock, holdings = new Map();
const say = (answer) => process.stdout.write(JSON.stringify(answer) + '\n');

async function acquire(id, name, timeoutMs) {
  for (const end = nowNs() + BigInt(timeoutMs) * 1000000n; ; await pause(100)) {
    const holding = await lock.attempt(name);
    if (holding) holdings.set(id, holding);
    if (holding) return 'granted';
    if (nowNs() >= end) return timeoutMs ? 'timed_out' : 'refused';
  }
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const asked = JSON.parse(line), { id } = asked, at_ns = String(nowNs());
  if (asked.do === 'start') {
    lock = new Lock(asked.uri, asked.database, asked.lease_ms);
    say({ is: 'ready' });
  } else if (asked.do === 'acquire') {
    const is = await acquire(id, asked.name, asked.timeout_ms).catch(() => 'failed');
    say({ id, is });
  } else if (asked.do === 'ask') {
    say({ id, is: lock.held(holdings.get(id)) ? 'held' : 'not_held', at_ns });
  } else if (asked.do === 'release') {
    say({ id, is: await lock.release(holdings.get(id)).catch(() => 'unknown') });
  } else { process.exit(0); }
}).on('close', () => process.exit(0));
