// npm mongodb-lock 1.0.1, on the driver that it was made for. It does not wait: here attempts are
// repeated.
import { promisify } from 'node:util';
import mongodb from 'mongodb3';
import mongoDbLock from 'mongodb-lock';
import { leaseFrom, limits, nowNs, once, poll, serve } from './serve.js';

serve(({ uri, database, lease_ms }) => {
  const options = { useUnifiedTopology: true, ...limits };
  const connect = once(() => mongodb.MongoClient.connect(uri, options));
  const locks = once(async () => {
    const collection = (await connect()).db(database).collection('locks');
    const any = mongoDbLock(collection, 'any');
    await promisify(any.ensureIndexes.bind(any))();
    return collection;
  });
  async function attempt(name) {
    const lock = mongoDbLock(await locks(), name, { timeout: lease_ms });
    const sent = nowNs();
    const code = await promisify(lock.acquire.bind(lock))();
    return code && { lock, code, held: leaseFrom(sent, lease_ms) };
  }
  return {
    acquire: (name, timeoutMs) => poll(timeoutMs, () => attempt(name)),
    release: async ({ lock, code }) =>
      await promisify(lock.release.bind(lock))(code) ? 'released' : 'not_owner',
  };
});
