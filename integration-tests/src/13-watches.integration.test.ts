import { CONFIG_MAPS, type ConfigMap, isReason } from '@gantry/objects';
import { seededRandom } from '@gantry/base';
import { ChangeLog, changesOf, VALIDATORS, type WatchRecording } from '@gantry/chaos-checker';
import { testSeed } from '@gantry/base/testing';
import { createHttpClient, readKubeconfig } from '@gantry/client';
import { afterEach, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { compact, currentRevision, recordHistory } from './harness/etcd-console.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const WATCHERS = 12;
const WRITERS = 8;
const ROOT = '/registry/configmaps/';

afterEach(async () => {
  for (const { state, service, id } of await cluster.containers()) {
    if (state === 'exited' && service !== 'pki') await cluster.docker(['start', id]);
  }
  await eventually('every apiserver is ready again', 180_000, async () => {
    await cluster.mustKubectl(['get', '--raw', '/readyz']);
    return true;
  });
});

type Item = WatchRecording['items'][number];

/**
 * Follows a resource for as long as it is told to, over connections of its own: leaves watches at random, resumes where it was or a
 * little before, lists again when its version has expired. Writes down every watch.
 */
async function follow(client: number, stop: AbortSignal, recordings: WatchRecording[]): Promise<number> {
  const random = seededRandom(testSeed(`watcher ${client}`, 1) + client);
  using api = createHttpClient({ ...readKubeconfig(cluster.kubeconfig), fieldManager: 'watches' });
  const listed = async () => Number((await api.list(CONFIG_MAPS, {}, stop)).resourceVersion);
  let expired = 0;
  let version = await listed();
  while (!stop.aborted) {
    const items: Item[] = [];
    const from = version;
    recordings.push({ client, from, items });
    const leave = AbortSignal.any([stop, AbortSignal.timeout(200 + Math.floor(random() * 3000))]);
    try {
      for await (const batch of api.watch(CONFIG_MAPS, { resourceVersion: String(from) }, leave)) {
        for (const event of batch) {
          if (event.type === 'BOOKMARK') {
            items.push({ type: 'BOOKMARK', version: Number(event.resourceVersion) });
            continue;
          }
          const { name, namespace, resourceVersion } = event.object.metadata;
          items.push({ type: event.type, key: `${namespace}/${name}`, version: Number(resourceVersion) });
        }
      }
    } catch (error) {
      // Left at random, cut off by a fault, or its version is compacted away: the next watch begins accordingly.
      if (isReason(error, 'Expired')) {
        expired++;
        version = await relist(listed, stop, version);
        continue;
      }
    }
    const reached = items.at(-1)?.version ?? from;
    const back = items.length > 3 && random() < 0.3 ? items.at(-1 - Math.floor(random() * 3)) : undefined;
    version = back?.version ?? reached;
  }
  return expired;
}

/** A list's version, once a server answers again. */
async function relist(listed: () => Promise<number>, stop: AbortSignal, fallback: number): Promise<number> {
  return await eventually('a list is answered', 120_000, async () => (stop.aborted ? fallback : await listed()));
}

async function write(writer: number, namespace: string, stop: AbortSignal, done: { writes: number }): Promise<void> {
  const random = seededRandom(testSeed(`writer ${writer}`, 100) + writer);
  using api = createHttpClient({ ...readKubeconfig(cluster.kubeconfig), fieldManager: 'watches' });
  const known = new Map<string, ConfigMap>();
  for (let i = 0; !stop.aborted; i++) {
    const name = `w${writer}-${Math.floor(random() * 10)}`;
    const current = known.get(name);
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace, resourceVersion: current?.metadata.resourceVersion },
      data: { i: String(i) },
    };
    try {
      if (current !== undefined && random() < 0.3) {
        await api.delete(CONFIG_MAPS, { namespace, name }, {}, stop);
        known.delete(name);
      } else {
        known.set(
          name,
          current === undefined
            ? await api.create(CONFIG_MAPS, object, stop)
            : await api.update(CONFIG_MAPS, object, stop),
        );
      }
      done.writes++;
    } catch {
      // Refused or unknown: the actual state is read once a server responds.
      await eventually('the object can be read', 120_000, async () => {
        if (stop.aborted) return true;
        const found = (await api.list(CONFIG_MAPS, { namespace, fieldSelector: `metadata.name=${name}` }, stop))
          .items[0];
        if (found === undefined) known.delete(name);
        else known.set(name, found);
        return true;
      });
    }
  }
}

test('watches are ordered, whole and resumable through reconnects, a compaction, a lost etcd member and a killed apiserver', async () => {
  await using namespace = await cluster.namespace();
  const began = await currentRevision(cluster);
  await using history = await recordHistory(cluster, began + 1);
  const there = await cluster.list(CONFIG_MAPS);
  const stop = new AbortController();
  const recordings: WatchRecording[] = [];
  const done = { writes: 0 };
  const clients = Promise.allSettled([
    ...Array.from({ length: WATCHERS }, (_, client) => follow(client, stop.signal, recordings)),
    ...Array.from({ length: WRITERS }, (_, writer) => write(writer, namespace.name, stop.signal, done)),
  ]);
  const more = async (count: number) => {
    const from = done.writes;
    await eventually(`${count} more writes`, 180_000, () => done.writes >= from + count);
  };
  await more(300);
  await compact(cluster, await currentRevision(cluster));
  await more(300);
  await cluster.docker(['kill', `${cluster.clusterId}-etcd-2-1`]);
  await more(300);
  const [, apiserver] = await cluster.containers('apiserver');
  await cluster.docker(['kill', apiserver?.id ?? '']);
  await more(300);
  await cluster.docker(['start', `${cluster.clusterId}-etcd-2-1`, apiserver?.id ?? '']);
  await more(300);
  stop.abort();
  const failed = (await clients).flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  expect(failed.filter((reason) => reason !== stop.signal.reason)).toEqual([]);
  const before = there.map(
    ({ metadata }) => ({ type: 'put', key: `${metadata.namespace}/${metadata.name}`, version: 0 }) as const,
  );
  const changes = [...before, ...changesOf(await history.until(await currentRevision(cluster)), ROOT)];
  const told = recordings.reduce((sum, { items }) => sum + items.length, 0);
  expect(changes.filter(({ version }) => version > began * 256).length).toBeGreaterThan(1000);
  expect(told).toBeGreaterThan(changes.length);
  const log = new ChangeLog(changes);
  for (const [name, validate] of Object.entries(VALIDATORS)) {
    const broken = recordings.flatMap((recording) =>
      validate(recording, log).map(({ what }) => `watch ${recording.client} from ${recording.from}: ${what}`),
    );
    expect(broken, name).toEqual([]);
  }
});

test('a version from before the cache is answered with 410', async () => {
  // Revision 1: the apiservers' caches began later.
  const old = '300';
  const watch = async () => {
    for await (const _ of cluster.api.watch(CONFIG_MAPS, { resourceVersion: old }, AbortSignal.timeout(60_000)));
  };
  await expect(watch()).rejects.toMatchObject({ reason: 'Expired', code: 410 });
});
