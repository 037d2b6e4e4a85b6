import { createObjectClient } from '../object-calls.ts';
import { StatusError } from '@gantry/objects';
import type { ObjectClient, ObjectWrite, WriteResult } from '../object-client.ts';

/**
 * Runs `meanwhile` before each write. It simulates writes of others between a controller's read and its write. If it throws a StatusError,
 * the write is rejected with it.
 */
export function createOvertakenClient(
  client: ObjectClient,
  meanwhile: (write: ObjectWrite) => Promise<void>,
): ObjectClient {
  return createObjectClient({
    get: (resource, key, signal) => client.get(resource, key, signal),
    list: (resource, options, signal) => client.list(resource, options, signal),
    watch: (resource, options, signal) => client.watch(resource, options, signal),
    write: async (write, signal) => {
      await meanwhile(write);
      return client.write(write, signal);
    },
    batch: async (writes, signal) => {
      const refused = new Map<ObjectWrite, WriteResult>();
      for (const write of writes) {
        try {
          await meanwhile(write);
        } catch (error) {
          if (!(error instanceof StatusError)) throw error;
          refused.set(write, { ok: false, status: error.toStatus() });
        }
      }
      const sent = writes.filter((write) => !refused.has(write));
      const results = new Map((await client.batch(sent, signal)).map((result, i) => [sent[i], result]));
      return writes.flatMap((write) => refused.get(write) ?? results.get(write) ?? []);
    },
  });
}
