// The published lock "insert-unique" (REFERENCES.md) in its own language: a document with a unique
// index is inserted in a transaction, the TTL index removes it, and the release deletes it whoever
// holds it.
import { MongoClient } from 'mongodb';
import { leaseFrom, limits, nowNs, once, pause, serve } from './serve.js';

const DUPLICATE_KEY = 11000;
const RETRY_MS = 100;
const TTL_S = 3; // of the index, which is one for all: no generated plan has a longer lease

serve(({ uri, database, lease_ms }) => {
  const client = new MongoClient(uri, limits);
  const locks = once(async () => {
    const collection = client.db(database).collection('locks');
    await collection.createIndex({ createdAt: 1 }, { expireAfterSeconds: TTL_S });
    await collection.createIndex({ resourceId: 1 }, { unique: true });
    return collection;
  });

  /// Whether it is ours; false: the unique index says that somebody has it.
  async function inserted(resourceId, clientId) {
    const session = client.startSession();
    try {
      session.startTransaction();
      await (await locks()).insertOne({ resourceId, createdAt: new Date(), clientId }, { session });
      await session.commitTransaction();
      return true;
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction();
      if (error.code === DUPLICATE_KEY) return false;
      throw error;
    } finally { await session.endSession(); }
  }
  return {
    async acquire(resourceId, timeoutMs, owner) {
      await locks();
      for (let tries = 1 + Math.ceil(timeoutMs / RETRY_MS); tries > 0; --tries) {
        const sent = nowNs();
        if (await inserted(resourceId, owner)) {
          return { resourceId, held: leaseFrom(sent, lease_ms) };
        }
        if (tries > 1) await pause(RETRY_MS);
      }
      return null;
    },
    async release({ resourceId }) {
      const freed = await (await locks()).deleteOne({ resourceId });
      return freed.deletedCount ? 'released' : 'not_owner';
    },
  };
});
