// npm redlock 5.0.0-beta.2, by its `using`: a lock that extends itself, and says by a signal that
// it could not. One client for each server, as its page says; of a set with sentinels one that asks
// them.
import Client from 'ioredis';
import Redlock, { ExecutionError } from 'redlock';
import { serve } from './serve.js';

const RETRY_MS = 200; // its page has that, and as much at random
const THRESHOLD_MS = 500; // its default

/// redis://HOST:PORT,..., or redis-sentinel://HOST:PORT,.../MASTER.
function clients(uri) {
  const [, scheme, hosts, name] = uri.match(/^([\w-]+):\/\/([^/]+)\/?(.*)$/);
  const servers = hosts.split(',').map((one) => {
    const [host, port] = one.split(':');
    return { host, port: Number(port) };
  });
  const made = scheme === 'redis-sentinel' ? [new Client({ sentinels: servers, name })]
                                           : servers.map((server) => new Client(server));
  for (const client of made) client.on('error', (error) => console.error(String(error)));
  return made;
}

serve(({ uri, database, lease_ms }) => {
  const redlock = new Redlock(clients(uri), {
    retryDelay: RETRY_MS, retryJitter: RETRY_MS,
    automaticExtensionThreshold: Math.min(THRESHOLD_MS, lease_ms / 2),
  });
  return {
    acquire(name, timeoutMs, owner, lost) {
      const retryCount = Math.ceil(timeoutMs / RETRY_MS);
      return new Promise((won, failed) => {
        // The lock is held until the promise of its routine is.
        const over = redlock.using([`${database}:${name}`], lease_ms, { retryCount },
          (signal) => new Promise((end) => {
            signal.addEventListener('abort', lost);
            won({ held: () => !signal.aborted, release: () => { end(); return over; }, signal });
          }));
        over.catch((error) => error instanceof ExecutionError ? won(null) : failed(error));
      });
    },
    async release({ release, signal }) {
      const aborted = signal.aborted;
      await release().catch((error) => { if (!aborted) throw error; });
      return aborted ? 'not_owner' : 'released';
    },
  };
});
