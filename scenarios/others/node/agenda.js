// agenda 6.2.6 with its MongoDB backend: a lock is a repeated job of that name, held while its
// function runs. An acquire processes jobs until it is called; a release lets it end.
import { Agenda } from 'agenda';
import { MongoBackend } from '@agendajs/mongo-backend';
import { MongoClient } from 'mongodb';
import { leaseFrom, limits, nowNs, once, pause, serve } from './serve.js';

const SCAN_MS = 100;
const READY_MS = 1500;
// All who process a job have to name the same. No generated plan has a longer lease.
const LIFETIME_MS = 3000;

/// After an error of its first command agenda is never ready: then another one is made.
async function ready(mongo, endNs) {
  do {
    const agenda = new Agenda({ backend: new MongoBackend({ mongo }), processEvery: SCAN_MS });
    if (await Promise.race([agenda.ready.then(() => true), pause(READY_MS)])) return agenda;
  } while (nowNs() < endNs);
  throw new Error('agenda is not ready');
}

serve(({ uri, database }) => {
  const client = new MongoClient(uri, limits);
  const schedules = new Map(); // each process schedules its jobs when it starts, as the pages do

  async function schedule(agenda, name) {
    if (!schedules.has(name)) schedules.set(name, once(() => agenda.every('0.1 seconds', name)));
    await schedules.get(name)();
  }
  return {
    async acquire(name, timeoutMs) {
      const endNs = nowNs() + BigInt(Math.max(timeoutMs, 2 * SCAN_MS)) * 1000000n;
      const agenda = await ready(client.db(database), endNs);
      let waits = true, won = null;
      agenda.define(name, (job) => {
        if (!waits) return Promise.resolve(); // it gave up meanwhile
        waits = false;
        const age = BigInt(Math.max(0, Date.now() - job.attrs.lockedAt.getTime())) * 1000000n;
        const inTime = leaseFrom(nowNs() - age, LIFETIME_MS);
        return new Promise((end) => { won = { job, end, held: () => !job.canceled && inTime() }; });
      }, { lockLifetime: LIFETIME_MS, concurrency: 1, lockLimit: 1 });
      await schedule(agenda, name);
      await agenda.start();
      while (!won && nowNs() < endNs) await pause(5);
      waits = false;
      await agenda.stop(false).catch(() => {});
      return won && { ...won, agenda };
    },
    /// Until its end is written; agenda does not say whether it still was the owner.
    async release({ job, agenda, end }) {
      const complete = new Promise((done) => agenda.once('complete', done));
      end();
      if (!job.canceled) await Promise.race([complete, pause(5000)]);
      return 'released';
    },
  };
});
