import { CONFIG_MAPS } from '@gantry/objects';
import { afterEach, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const WRITERS = 8;

afterEach(async () => {
  for (const container of await cluster.containers()) {
    if (container.state === 'exited' && container.service !== 'pki') await cluster.docker(['start', container.id]);
  }
  await eventually('every apiserver is ready again', 180_000, async () => {
    await cluster.mustKubectl(['get', '--raw', '/readyz']);
    return true;
  });
});

/** Follows a resource by resuming at the last version seen, as a client does; records what it is told. */
async function followThroughFaults(namespace: string, from: string, stop: AbortSignal, seen: string[]): Promise<void> {
  let version = from;
  while (!stop.aborted) {
    try {
      const options = { namespace, resourceVersion: version };
      for await (const batch of cluster.api.watch(CONFIG_MAPS, options, stop)) {
        for (const event of batch) {
          if (event.type === 'BOOKMARK') {
            version = event.resourceVersion;
            continue;
          }
          version = event.object.metadata.resourceVersion ?? version;
          seen.push(`${event.type} ${event.object.metadata.name}`);
        }
      }
    } catch {
      // The watch is cut by the fault: it is opened again at the version reached.
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

test('one etcd member and one apiserver killed under load: no acknowledged write is lost, the watch has no gap', async () => {
  await using namespace = await cluster.namespace();
  const first = await cluster.api.list(CONFIG_MAPS, { namespace: namespace.name }, AbortSignal.timeout(30_000));
  const stop = new AbortController();
  const seen: string[] = [];
  const following = followThroughFaults(namespace.name, first.resourceVersion, stop.signal, seen);

  const acknowledged: string[] = [];
  let writing: 'on' | 'off' = 'on';
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let i = 0; writing === 'on'; i++) {
      const name = `c${writer}-${i}`;
      try {
        await cluster.create(CONFIG_MAPS, namespace.name, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name },
          data: { i: String(i) },
        });
        acknowledged.push(name);
      } catch {
        // Refused or unknown: not acknowledged, so nothing is claimed of it.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  });
  const atLeast = (count: number) =>
    eventually(`${count} writes are acknowledged`, 180_000, () => acknowledged.length >= count);
  await atLeast(100);
  const [apiserver] = await cluster.containers('apiserver');
  await cluster.docker(['kill', `${cluster.clusterId}-etcd-1-1`]);
  await atLeast(acknowledged.length + 100);
  await cluster.docker(['kill', apiserver?.id ?? '']);
  await atLeast(acknowledged.length + 100);
  writing = 'off';
  await Promise.all(writers);

  const stored = (await cluster.list(CONFIG_MAPS, namespace.name)).map(({ metadata }) => metadata.name);
  expect(stored).toEqual(expect.arrayContaining(acknowledged));
  // Listed again each time: a write that was not acknowledged may be done later.
  await eventually('the watch has reported every object, once', 120_000, async () => {
    const made = (await cluster.list(CONFIG_MAPS, namespace.name)).map(({ metadata }) => metadata.name);
    expect(seen.toSorted()).toEqual(
      made
        .filter((name) => name?.startsWith('c'))
        .map((name) => `ADDED ${name}`)
        .toSorted(),
    );
    return true;
  });
  stop.abort();
  await following;
});
