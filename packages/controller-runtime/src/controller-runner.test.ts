import { CONFIG_MAPS, type ConfigMap, SECRETS, StatusError } from '@gantry/objects';
import { sleep } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { expect, it, onTestFinished } from 'vitest';
import type { ControllerSpec } from './controller.ts';
import type { StaleReport } from './reconcile-report.ts';
import { createFenceHolder } from './leader.ts';
import { createManager } from './manager.ts';
import { silentLog } from './testing/silent-log.ts';
import { watchMapped, watchSelf } from './watch-specs.ts';

const KEY = { namespace: 'a', name: 'one' };
const away = StatusError.unavailable('away');
const configMap: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: KEY, data: {} };

/** Starts a leader with one controller of ConfigMaps. `seen` holds the times of its reconciles, in milliseconds since the start. */
function lead(spec: Partial<ControllerSpec>) {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const start = clock.now();
  const seen: number[] = [];
  const stale: StaleReport[] = [];
  const controller: ControllerSpec = {
    name: 'test',
    eventSource: 'test-controller',
    watches: [watchSelf(CONFIG_MAPS)],
    ...spec,
    reconcile: async (key, context, signal) => {
      seen.push(clock.now() - start);
      return (await spec.reconcile?.(key, context, signal)) ?? {};
    },
  };
  const manager = createManager({
    client,
    fences: createFenceHolder(),
    component: 'kube-test',
    identity: 'me',
    controllers: [controller],
    clock,
    random: () => 0.5,
    log: silentLog,
    onStale: (report) => stale.push(report),
  });
  void manager.run(stop.signal);
  void manager.leader.lead({ electionKey: '/gantry/elections/kube-test', epoch: 1, incarnation: 'i' }, stop.signal);
  return { clock, client, seen, stale };
}

it('collects changes for as long as their watch says, and is not put off by further ones', async () => {
  const watch = {
    ...watchSelf(CONFIG_MAPS),
    delayMs: (_object: unknown, old: unknown) => (old === undefined ? 0 : 1000),
  };
  const { clock, client, seen } = lead({ watches: [watch] });
  await clock.advance(100);
  await client.put(CONFIG_MAPS, configMap);
  await clock.advance(100);
  for (const value of ['1', '2', '3']) {
    await client.patch(CONFIG_MAPS, KEY, { merge: { data: { value } } }, AbortSignal.any([]));
    await clock.advance(400);
  }
  await clock.advance(5000);
  expect(seen).toEqual([100, 1200]);
});

it('changes of one turn of the event loop cost one reconcile, which sees the last of them', async () => {
  const values: unknown[] = [];
  const { clock, client, seen } = lead({
    reconcile: async (key, { cache }) => {
      values.push(cache.get(CONFIG_MAPS, key)?.data?.['value']);
      return {};
    },
  });
  await clock.advance(100);
  await client.put(CONFIG_MAPS, configMap);
  for (const value of ['1', '2', '3']) {
    await client.patch(CONFIG_MAPS, KEY, { merge: { data: { value } } }, AbortSignal.any([]));
  }
  await clock.advance(0);
  expect(seen).toEqual([100]);
  expect(values).toEqual(['3']);
});

it.each([
  ['which each attempt has waited for a server', 6000, 1000],
  ['which an extension server refuses each attempt at once', 0, 30_000],
])('tries again after an outage in %s for %i ms: %i ms later, however often it failed', async (_, waitsMs, delayMs) => {
  const { clock, client, seen } = lead({
    reconcile: async (_key, _context, signal) => {
      await sleep(clock, waitsMs, signal);
      throw away;
    },
  });
  await clock.advance(100);
  await client.put(CONFIG_MAPS, configMap);
  await clock.advance(150_000);
  const [before = 0, last = 0] = seen.slice(-2);
  expect(last - before).toBe(waitsMs + delayMs);
});

it('keeps a worker for the other shares when one has many slow keys', async () => {
  const served: string[] = [];
  const share = ({ name }: { readonly name: string }) => name.slice(0, 1);
  const { clock, client } = lead({
    workers: 3,
    share,
    reconcile: async ({ name }, _context, signal) => {
      served.push(name);
      if (name.startsWith('s')) await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return {};
    },
  });
  await clock.advance(100);
  for (const name of ['s1', 's2', 's3', 's4', 'q1', 'q2']) {
    await client.put(CONFIG_MAPS, { ...configMap, metadata: { ...KEY, name } });
  }
  await clock.advance(100);
  expect(served.sort()).toEqual(['q1', 'q2', 's1', 's2']);
});

it.each([
  ['soon', 2],
  ['always', 1],
] as const)(
  'with awaitOwnWrites %s, a cache that does not show a write lets %i reconciles happen',
  async (mode, count) => {
    const { clock, client, seen } = lead({
      awaitOwnWrites: mode,
      reconcile: async (key, context, signal) => {
        client.breakWatches();
        const isRead = ({ verb }: { verb: string }) => verb === 'watch' || verb === 'list';
        client.failNext(isRead, StatusError.unavailable('away'), 1_000_000);
        await context.client.patch(CONFIG_MAPS, key, { merge: { data: { value: String(clock.now()) } } }, signal);
        return { requeueAfterMs: 100 };
      },
    });
    await clock.advance(100);
    await client.put(CONFIG_MAPS, configMap);
    // This is longer than Kubernetes' ExpectationsTimeout.
    await clock.advance(301_000);
    expect(seen).toHaveLength(count);
  },
);

it('a key whose create is not known to have come about is not reconciled before that is read', async () => {
  const { clock, client, seen } = lead({
    reconcile: async (_key, context, signal) => {
      if (client.all(SECRETS).length > 0) return {};
      client.failNext(({ verb }) => verb === 'create', StatusError.timeout('outcome unknown'));
      client.failNext(({ verb, resource }) => verb === 'get' && resource === SECRETS, away, 5);
      const metadata = { namespace: 'a', generateName: 'one-' };
      await context.client.create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata }, signal);
      return {};
    },
    watches: [watchSelf(CONFIG_MAPS), watchMapped(SECRETS, () => [])],
  });
  await clock.advance(100);
  await client.put(CONFIG_MAPS, configMap);
  await clock.advance(1000);
  expect(seen).toEqual([100]);
  await clock.advance(30_000);
  expect(seen.length).toBeGreaterThan(1);
});

it.each([
  ['queued again', 2, [{ controller: 'test', resource: SECRETS }]],
  ['not queued again', 1, []],
] as const)(
  'a key that waits for a watch that is behind, %s, is reported once or not at all',
  async (what, count, want) => {
    const { clock, client, seen, stale } = lead({
      reconcile: async (key, context, signal) => {
        if (client.all(SECRETS).length > 0) return {};
        client.breakWatches();
        client.failNext(({ verb, resource }) => verb === 'watch' && resource === SECRETS, away, 3);
        const metadata = { namespace: 'a', name: 'one' };
        await context.client.create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata }, signal);
        if (what === 'queued again') {
          await context.client.patch(CONFIG_MAPS, key, { merge: { data: { value: '1' } } }, signal);
        }
        return {};
      },
      watches: [watchSelf(CONFIG_MAPS), watchMapped(SECRETS, () => [])],
    });
    await clock.advance(100);
    await client.put(CONFIG_MAPS, configMap);
    await clock.advance(30_000);
    expect(seen).toHaveLength(count);
    expect(stale).toEqual(want);
  },
);
