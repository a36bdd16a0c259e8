// The protocol of scenarios/WORKERS.md for a lock in Node.js.
import { createInterface } from 'node:readline';

export const nowNs = () => process.hrtime.bigint(); // CLOCK_MONOTONIC
export const pause = (ms) => new Promise((wake) => setTimeout(wake, ms));
export const limits = { socketTimeoutMS: 2000, serverSelectionTimeoutMS: 2000 };

/// A function that makes something once; after a failure it tries again.
export function once(make) {
  let made;
  return () => made ??= make().catch((error) => { made = undefined; throw error; });
}

/// Repeats an attempt, for locks that do not wait; null: another has it until then.
export async function poll(timeoutMs, attempt) {
  for (const end = nowNs() + BigInt(timeoutMs) * 1000000n; ; await pause(100)) {
    const won = await attempt();
    if (won || nowNs() >= end) return won;
  }
}

/// What a lease that began then is worth: its user counts by himself.
export const leaseFrom = (sentNs, leaseMs) => {
  const untilNs = sentNs + BigInt(leaseMs) * 1000000n;
  return () => nowNs() < untilNs;
};

/// `start(order)` gives { acquire(name, timeoutMs, owner, lost), release(holding) }: acquire
/// resolves to null or { held(), ... }, release to "released" or "not_owner". What they throw is
/// answered. `lost()` says after the grant that the holding was lost.
export function serve(start) {
  let lock, order;
  const holdings = new Map();
  const say = (answer) => process.stdout.write(JSON.stringify(answer) + '\n');
  process.on('unhandledRejection', (error) => console.error(error));

  async function acquire({ id, name, timeout_ms }) {
    const lost = () => say({ id, is: 'lost' });
    try {
      const holding = await lock.acquire(name, timeout_ms, `${order.process}/${id}`, lost);
      holdings.set(id, holding);
      say({ id, is: holding ? 'granted' : timeout_ms ? 'timed_out' : 'refused' });
    } catch (error) { say({ id, is: 'failed', why: String(error).slice(0, 200) }); }
  }
  async function release({ id }) {
    say({ id, is: await lock.release(holdings.get(id)).catch(() => 'unknown') });
  }
  function ask({ id }) {
    const at_ns = String(nowNs());
    say({ id, is: holdings.get(id).held() ? 'held' : 'not_held', at_ns });
  }
  const questions = { acquire, release, ask };
  createInterface({ input: process.stdin }).on('line', (line) => {
    const asked = JSON.parse(line);
    if (asked.do === 'stop') process.exit(0);
    if (asked.do !== 'start') return questions[asked.do](asked);
    lock = start(order = asked);
    say({ is: 'ready' });
  }).on('close', () => process.exit(0));
}
