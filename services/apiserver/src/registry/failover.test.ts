import { type KubeObject, StatusError } from '@gantry/objects';
import { must, seededRandom } from '@gantry/base';
import { describe, expect, it } from 'vitest';
import { jsonBody, startHarness, definitionOf, type Harness, WRITE } from './testing.ts';
import { deleteBody, DELETE_AS_USUAL } from './contract/registry.ts';

const NAMES = ['a', 'b', 'c', 'd'];
/** One random write. Conflicts and missing objects are expected. */
async function act(h: Harness, random: () => number, step: number): Promise<void> {
  const name = must(NAMES[Math.floor(random() * NAMES.length)], 'a name');
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: random() < 0.5 ? { seen: 'yes' } : {} },
    data: { step: String(step) },
  };
  const target = h.target('configmaps', name);
  const kind = random();
  const work: Promise<unknown> =
    kind < 0.4
      ? h.registry.create(h.context(), { ...target, name: '' }, jsonBody(object), WRITE)
      : kind < 0.75
        ? h.registry.update(h.context(), target, jsonBody(object), WRITE)
        : h.registry.delete(h.context(), target, deleteBody(DELETE_AS_USUAL));
  await h.settle(
    work.catch((error: unknown) => {
      if (!(error instanceof StatusError) || error.code >= 500) throw error;
    }),
  );
}

/** Opens a watch at `version`, applies its events to `seen`, and closes it. */
async function follow(h: Harness, version: number, seen: Map<string, KubeObject>): Promise<number> {
  const stop = new AbortController();
  const watch = await h.settle(
    h.registry.watch(h.context({ signal: stop.signal }), definitionOf('configmaps'), {
      namespace: 'n',
      labelSelector: 'seen=yes',
      fieldSelector: '',
      resourceVersion: String(version),
      resourceVersionMatch: '',
      sendInitialEvents: undefined,
      allowBookmarks: false,
    }),
  );
  await h.clock.advance(20);
  stop.abort();
  let at = version;
  for await (const items of watch) {
    for (const item of items) {
      if (item.type === 'BOOKMARK') continue;
      const { object } = item.response;
      const next = Number(object.metadata.resourceVersion);
      expect(next).toBeGreaterThan(at);
      at = next;
      const name = object.metadata.name ?? '';
      expect(seen.has(name)).toBe(item.type !== 'ADDED');
      if (item.type === 'DELETED') seen.delete(name);
      else seen.set(name, object);
    }
  }
  return at;
}

describe('several apiservers', () => {
  it.each([1, 2, 3])('show a client that moves between them every change once (seed %i)', async (seed) => {
    const random = seededRandom(seed);
    const one = await startHarness({ seed });
    const two = await startHarness({ etcd: one.store.etcd, seed: seed + 100 });
    const either = () => (random() < 0.5 ? one : two);
    const seen = new Map<string, KubeObject>();
    const request = {
      namespace: 'n',
      labelSelector: 'seen=yes',
      fieldSelector: '',
      resourceVersion: '',
      resourceVersionMatch: '',
      limit: 0,
      continueToken: '',
    } as const;
    let version = 256;
    for (let step = 0; step < 60; step++) {
      await Promise.all([act(one, random, step), act(two, random, step)]);
      if (step === 0) {
        const first = await one.settle(one.registry.list(one.context(), definitionOf('configmaps'), request));
        for (const { object } of first.items) seen.set(object.metadata.name ?? '', object);
        version = first.resourceVersion;
      } else version = await follow(either(), version, seen);
    }
    await one.clock.advance(100);
    await two.clock.advance(100);
    await follow(one, version, seen);
    const last = await two.settle(two.registry.list(two.context(), definitionOf('configmaps'), request));
    expect([...seen.values()].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))).toEqual(
      last.items.map((item) => item.object),
    );
  });
});
