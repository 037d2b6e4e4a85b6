import type { ObjectClient, ObjectWrite } from '../object-client.ts';

/**
 * A client before each of whose writes `meanwhile` happens: what others do between a reader's last look and the write that
 * follows from it.
 */
export function createOvertakenClient(
  client: ObjectClient,
  meanwhile: (write: ObjectWrite) => Promise<void>,
): ObjectClient {
  return {
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
  };
}
