import {
  CONFIG_MAPS,
  type ConfigMap,
  DEPLOYMENTS,
  isLeadershipEnded,
  isReason,
  keyOf,
  type KubeObject,
  type Lease,
  LEASES,
  StatusError,
} from '@gantry/objects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LeaseFence, ObjectClient, WatchEvent } from '../object-client.ts';

/** A client under test, and an empty namespace for its objects. */
export interface ClientUnderTest {
  readonly client: ObjectClient;
  readonly namespace: string;
  /** Whether terms of Leases reach the server; they do when absent. */
  readonly leaseFences?: 'not-sent';
  readonly close: () => Promise<void>;
}

const { signal } = new AbortController();

/** The contract of `ObjectClient`. Runs against the fake, and against each transport with a real API server. */
export function describeObjectClient(name: string, open: () => Promise<ClientUnderTest>): void {
  describe(name, () => {
    let under: ClientUnderTest;
    let count = 0;
    const configMap = (labels: Record<string, string> = {}, rest: Partial<ConfigMap['metadata']> = {}): ConfigMap => {
      count += 1;
      const metadata = { name: `contract-${count}`, namespace: under.namespace, labels, ...rest };
      return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { key: 'first' } };
    };
    const create = (object: ConfigMap) => under.client.create(CONFIG_MAPS, object, signal);
    const keyFor = (object: KubeObject) => ({ namespace: under.namespace, name: object.metadata.name ?? '' });
    const remove = (object: KubeObject, uid?: string) =>
      under.client.delete(CONFIG_MAPS, keyFor(object), { uid }, signal);
    beforeAll(async () => {
      under = await open();
    });
    afterAll(async () => {
      await under.close();
    });

    it('gives back what was created, with the server’s fields', async () => {
      const created = await create(configMap());
      expect(created.metadata.uid).toBeTruthy();
      expect(Number(created.metadata.resourceVersion)).toBeGreaterThan(255);
      const read = await under.client.get(CONFIG_MAPS, keyFor(created), signal);
      expect(read).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { key: 'first' } });
      expect(read.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    });

    it('refuses a name that is taken and misses one that is not there', async () => {
      const created = await create(configMap());
      const again = create({
        ...configMap(),
        metadata: { name: created.metadata.name ?? '', namespace: under.namespace },
      });
      await expect(again).rejects.toSatisfy((error) => isReason(error, 'AlreadyExists'));
      const missing = under.client.get(CONFIG_MAPS, { namespace: under.namespace, name: 'nobody' }, signal);
      await expect(missing).rejects.toSatisfy((error) => isReason(error, 'NotFound'));
    });

    it('updates from the version that was read, and from no older one', async () => {
      const created = await create(configMap());
      const update = (data: Record<string, string>) => {
        const object: ConfigMap = { ...created, data };
        return under.client.update(CONFIG_MAPS, object, signal);
      };
      expect((await update({ key: 'second' })).data).toEqual({ key: 'second' });
      await expect(update({ key: 'third' })).rejects.toSatisfy((error) => isReason(error, 'Conflict'));
    });

    it('writes the status and the annotations of a status update, and neither spec nor labels', async () => {
      const { namespace, client } = under;
      const template = {
        metadata: { labels: { app: 'a' } },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      };
      const spec = { replicas: 1, selector: { matchLabels: { app: 'a' } }, template };
      const created = await client.create(
        DEPLOYMENTS,
        { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { generateName: 'status-', namespace }, spec },
        signal,
      );
      const written = await client.updateStatus(
        DEPLOYMENTS,
        {
          ...created,
          metadata: { ...created.metadata, labels: { l: 'v' }, annotations: { a: 'v' } },
          spec: { ...spec, replicas: 7 },
          status: { replicas: 3 },
        },
        signal,
      );
      expect(written).toMatchObject({ metadata: { annotations: { a: 'v' } }, spec: { replicas: 1 } });
      expect([written.status?.replicas, written.metadata.labels]).toEqual([3, undefined]);
      await client.delete(DEPLOYMENTS, keyOf(created), {}, signal);
    });

    it('merges a patch', async () => {
      const created = await create(configMap());
      const patch = { data: { key: null, other: 'x' } };
      const patched = await under.client.patch(CONFIG_MAPS, keyFor(created), { merge: patch }, signal);
      expect(patched.data).toEqual({ other: 'x' });
    });

    it('applies a configuration to what is there, under a field manager of its own', async () => {
      const created = await create(configMap());
      const { name, namespace } = created.metadata;
      const apply = (data: Record<string, string>) =>
        under.client.apply(
          CONFIG_MAPS,
          { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data },
          { fieldManager: 'applier' },
          signal,
        );
      const applied = await apply({ other: 'x' });
      expect(applied.data).toEqual({ ...created.data, other: 'x' });
      expect(applied.metadata.managedFields?.find(({ operation }) => operation === 'Apply')?.manager).toBe('applier');
      expect((await apply({ key: 'mine' })).data).toEqual({ key: 'mine' });
    });

    it('creates by an apply what is not there, and nothing by an apply of a status', async () => {
      const { metadata, data } = configMap();
      const options = { fieldManager: 'applier' };
      const wanted = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
      const created = await under.client.apply(CONFIG_MAPS, wanted, options, signal);
      expect(created.metadata.uid).toBeTruthy();
      expect(await under.client.apply(CONFIG_MAPS, wanted, options, signal)).toEqual(created);
      const status = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, status: { replicas: 1 } };
      const applied = under.client.apply(DEPLOYMENTS, status, { ...options, subresource: 'status' }, signal);
      await expect(applied).rejects.toSatisfy((error) => isReason(error, 'NotFound'));
    });

    it('deletes the object that was meant, and no namesake', async () => {
      const created = await create(configMap());
      const wrong = remove(created, '11111111-2222-3333-4444-555555555555');
      await expect(wrong).rejects.toSatisfy((error) => isReason(error, 'Conflict'));
      await remove(created, created.metadata.uid);
      await expect(under.client.get(CONFIG_MAPS, keyFor(created), signal)).rejects.toSatisfy((error) =>
        isReason(error, 'NotFound'),
      );
    });

    it('keeps a deleted object until its finalizers are gone', async () => {
      const created = await create(configMap({}, { finalizers: ['example.org/hold'] }));
      await remove(created);
      const held = await under.client.get(CONFIG_MAPS, keyFor(created), signal);
      expect(held.metadata.deletionTimestamp).toBeTruthy();
      await under.client.patch(CONFIG_MAPS, keyFor(created), { merge: { metadata: { finalizers: null } } }, signal);
      await expect(under.client.get(CONFIG_MAPS, keyFor(created), signal)).rejects.toBeInstanceOf(StatusError);
    });

    it('lists by label', async () => {
      const created = await create(configMap({ listed: 'yes' }));
      await create(configMap({ listed: 'no' }));
      const { namespace } = under;
      const list = await under.client.list(CONFIG_MAPS, { namespace, labelSelector: 'listed=yes' }, signal);
      expect(list.items.map(({ metadata }) => metadata.name)).toEqual([created.metadata.name]);
      expect(list.items[0]).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
      expect(Number(list.resourceVersion)).toBeGreaterThan(Number(created.metadata.resourceVersion));
    });

    it('watches from a list on, without gaps or repeats', async () => {
      const { namespace, client } = under;
      const { resourceVersion } = await client.list(CONFIG_MAPS, { namespace }, signal);
      const seen = collect(
        (stop) => client.watch(CONFIG_MAPS, { namespace, labelSelector: 'watched=yes', resourceVersion }, stop),
        3,
      );
      const created = await create(configMap({ watched: 'yes' }));
      await create(configMap({ watched: 'no' }));
      const object: ConfigMap = { ...created, data: { key: 'second' } };
      await client.update(CONFIG_MAPS, object, signal);
      await remove(created);
      const events = await seen;
      expect(events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
      expect(new Set(events.map((event) => event.object.metadata.uid)).size).toBe(1);
    });

    it('says with an empty batch that a watch is open', async () => {
      const { namespace, client } = under;
      const { resourceVersion } = await client.list(CONFIG_MAPS, { namespace }, signal);
      const stop = new AbortController();
      for await (const batch of client.watch(CONFIG_MAPS, { namespace, resourceVersion }, stop.signal)) {
        expect(batch).toEqual([]);
        break;
      }
    });

    it('begins a watch with what is there, and says where that ends', async () => {
      const { namespace, client } = under;
      const created = await create(configMap({ initial: 'yes' }));
      const stop = new AbortController();
      const options = { namespace, labelSelector: 'initial=yes', sendInitialEvents: true };
      const names: (string | undefined)[] = [];
      for await (const batch of client.watch(CONFIG_MAPS, options, stop.signal)) {
        for (const event of batch) if (event.type !== 'BOOKMARK') names.push(event.object.metadata.name);
        if (batch.some((event) => event.type === 'BOOKMARK' && event.initialEventsEnd)) break;
      }
      expect(names).toEqual([created.metadata.name]);
    });

    it('lists and watches metadata alone', async () => {
      const { namespace, client } = under;
      const options = { namespace, labelSelector: 'alone=yes', metadataOnly: true };
      const { name, uid } = (await create(configMap({ alone: 'yes' }))).metadata;
      const { items, resourceVersion } = await client.list(CONFIG_MAPS, options, signal);
      expect(items).toMatchObject([{ metadata: { name, uid, labels: { alone: 'yes' } } }]);
      expect(items[0]).not.toHaveProperty('data');
      const seen = collect((stop) => client.watch(CONFIG_MAPS, { ...options, resourceVersion }, stop), 1);
      const other = await create(configMap({ alone: 'yes' }));
      const [event] = await seen;
      expect(event).toMatchObject({ type: 'ADDED', object: { metadata: { uid: other.metadata.uid } } });
      expect(event?.object).not.toHaveProperty('data');
    });

    it('ends a watch by its signal', async () => {
      const stop = new AbortController();
      const watching = collect(
        () => under.client.watch(CONFIG_MAPS, { namespace: under.namespace, labelSelector: 'x=none' }, stop.signal),
        1,
      );
      stop.abort(new StatusError('Timeout', 'enough'));
      await expect(watching).rejects.toThrow('enough');
    });

    it('stores a write while its writer holds the Lease, and refuses it afterwards', async () => {
      const { client, namespace } = under;
      const key = { namespace, name: 'contract-lease' };
      const spec = { holderIdentity: 'one, or ü', leaseDurationSeconds: 1, leaseTransitions: 7 };
      const object: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { ...key }, spec };
      const { uid = '' } = (await client.create(LEASES, object, signal)).metadata;
      const fence: LeaseFence = { ...key, uid, holder: spec.holderIdentity, transitions: 7 };
      const write = (of: LeaseFence) => {
        return client.write(
          { verb: 'create', resource: CONFIG_MAPS, namespace, object: configMap(), fence: of },
          signal,
        );
      };
      if (under.leaseFences === 'not-sent') {
        await expect(write(fence)).rejects.toSatisfy((error) => isReason(error, 'BadRequest'));
        return;
      }
      const change = (changed: Lease['spec']) =>
        client.patch(LEASES, key, { merge: { spec: { ...spec, ...changed } } }, signal);
      await write(fence);
      await change({ renewTime: '2026-01-01T00:00:00.000000Z' });
      await write(fence);
      for (const other of [{ uid: 'other' }, { holder: 'two' }, { transitions: 8 }, { name: 'none' }]) {
        await expect(write({ ...fence, ...other })).rejects.toSatisfy(isLeadershipEnded);
      }
      await change({ holderIdentity: 'two', leaseTransitions: 8 });
      await expect(write(fence)).rejects.toSatisfy(isLeadershipEnded);
      const create = { verb: 'create', resource: CONFIG_MAPS, namespace, object: configMap(), fence } as const;
      const [result] = await client.batch([create], signal);
      expect(result?.ok === false && isLeadershipEnded(StatusError.fromStatus(result.status))).toBe(true);
      await change({ leaseTransitions: 9 });
      await expect(write(fence), 'another term of the same holder').rejects.toSatisfy(isLeadershipEnded);
    });

    it('answers each write of a batch for itself', async () => {
      const taken = await create(configMap());
      const { namespace } = under;
      const fresh = configMap();
      const results = await under.client.batch(
        [
          { verb: 'create', resource: CONFIG_MAPS, namespace, object: fresh },
          {
            verb: 'create',
            resource: CONFIG_MAPS,
            namespace,
            object: { ...configMap(), metadata: { name: taken.metadata.name ?? '' } },
          },
        ],
        signal,
      );
      expect(results[0]).toMatchObject({ ok: true, object: { metadata: { name: fresh.metadata.name } } });
      expect(results[1]).toMatchObject({ ok: false, status: { reason: 'AlreadyExists', code: 409 } });
    });
  });
}

type ObjectEvent = Exclude<WatchEvent, { type: 'BOOKMARK' }>;

/** The first `count` changes of a watch. */
async function collect(
  watch: (stop: AbortSignal) => AsyncIterable<readonly WatchEvent[]>,
  count: number,
): Promise<readonly ObjectEvent[]> {
  const stop = new AbortController();
  const events: ObjectEvent[] = [];
  for await (const batch of watch(stop.signal)) {
    for (const event of batch) if (event.type !== 'BOOKMARK') events.push(event);
    if (events.length >= count) break;
  }
  stop.abort();
  return events;
}
