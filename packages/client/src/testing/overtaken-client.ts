import { createObjectClient } from '../object-calls.ts';
import type { ObjectClient, ObjectWrite } from '../object-client.ts';

/**
 * Runs `meanwhile` before each write is sent: what others write between a controller's read and the write that follows
 * from it.
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
      for (const write of writes) await meanwhile(write);
      return client.batch(writes, signal);
    },
  });
}
