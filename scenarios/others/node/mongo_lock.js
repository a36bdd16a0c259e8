// npm mongo-lock 0.8.2, on a driver that has the methods which it asks for. It waits by itself.
import { promisify } from 'node:util';
import mongodb from 'mongodb3';
import MongoLock from 'mongo-lock';
import { leaseFrom, limits, nowNs, once, serve } from './serve.js';

const DUPLICATE_KEY = 11000;

serve(({ uri, database, lease_ms }) => {
  const options = { useUnifiedTopology: true, ...limits };
  const connect = once(() => mongodb.MongoClient.connect(uri, options));
  return {
    async acquire(name, timeoutMs, owner) {
      const collection = (await connect()).db(database).collection('locks');
      let sent; // of the attempt that won: its lease begins there
      const gateway = {
        insert: (...call) => { sent = nowNs(); return collection.insert(...call); },
        findOne: (...call) => collection.findOne(...call),
        update: (...call) => collection.update(...call),
        remove: (...call) => collection.remove(...call),
      };
      const locks = new MongoLock(gateway);
      try {
        await promisify(locks.getLock.bind(locks))(name, owner, timeoutMs, lease_ms);
      } catch (error) {
        if (error.code === DUPLICATE_KEY) return null;
        throw error;
      }
      return { locks, name, owner, held: leaseFrom(sent, lease_ms) };
    },
    async release({ locks, name, owner }) {
      const { result } = await promisify(locks.releaseLock.bind(locks))(name, owner);
      return result.n ? 'released' : 'not_owner';
    },
  };
});
