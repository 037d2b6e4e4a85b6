import { ManualClock } from '@gantry/base/testing';
import { createObjectClient } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { LEASES } from '@gantry/objects';
import { expect, it } from 'vitest';
import { Informers } from './informers.ts';
import { createFenceHolder, Leader } from './leader.ts';
import { silentLog } from './testing/silent-log.ts';

class BrokenError extends Error {}

const TERM = { electionKey: '/gantry/elections/kube-test', epoch: 0, incarnation: 'i' };

it('a leader whose work has failed shows itself as the leader no more, and has ended when its last write has', async () => {
  const clock = new ManualClock();
  const server = new FakeObjectClient(clock);
  /** Writes of the Lease wait for this after ten seconds. */
  const held = Promise.withResolvers<void>();
  const client = createObjectClient({
    get: server.get.bind(server),
    list: server.list.bind(server),
    watch: server.watch.bind(server),
    write: async (write, signal) => {
      if (write.resource.resource === LEASES.resource && clock.monotonicMs() - startMs >= 10_000) await held.promise;
      return await server.write(write, signal);
    },
    batch: server.batch.bind(server),
  });
  const startMs = clock.monotonicMs();
  const base = { client, clock, random: () => 0.5, log: silentLog };
  const failed = Promise.withResolvers<void>();
  const leader = new Leader({
    ...base,
    component: 'kube-test',
    identity: 'me',
    fences: createFenceHolder(),
    informers: new Informers({ ...base, resources: [] }),
    work: () => failed.promise,
  });
  let end = 'none';
  const leading = leader.lead(TERM, new AbortController().signal).catch((error: unknown) => {
    end = error instanceof BrokenError ? 'failed' : 'other';
  });
  await clock.advance(10_000);
  failed.reject(new BrokenError());
  await clock.advance(0);
  expect(end).toBe('none');
  held.resolve();
  await leading;
  expect(end).toBe('failed');
  const lease = server.all(LEASES)[0];
  await clock.advance(60_000);
  expect(server.all(LEASES)[0]).toEqual(lease);
});
