import {
  type KubernetesObject,
  makeInformer,
  type ResourceV1ResourceClaim,
  type V1DeviceClass,
  type V1ResourceClaimTemplate,
  type V1ResourceSlice,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { mergeInto } from './api-operations.ts';
import { documentAt } from './discovery-documents.ts';
import { KINDS } from './kinds.ts';
import { expectNewer, expectNotFound, retryOnConflict } from './outcome.ts';
import { type PatchType, Resource, type ResourceKind } from './resource.ts';
import { type Proof, proof, type World } from './world.ts';

const SYNC_MS = 120_000;
const STRICT = { fieldValidation: 'Strict' };

type Fields = Readonly<Record<string, unknown>>;

/** A patch that makes the change of a resource, in one of the four ways to write it. */
type Patches = Partial<Readonly<Record<PatchType, unknown>>>;

interface Crud<T extends KubernetesObject> {
  readonly codename: string;
  readonly kind: ResourceKind;
  readonly body: Omit<T, 'metadata'>;
  /** What the update changes. */
  readonly change: Fields;
  readonly patches: Patches;
  readonly status?: { readonly change: Fields; readonly patches: Patches };
}

/** Events that an informer of the client library reports, by kind. */
interface Informed {
  readonly seen: { readonly verb: string; readonly version: string }[];
  readonly stop: () => Promise<void>;
}

async function inform<T extends KubernetesObject>(
  world: World,
  resource: Resource<T>,
  path: string,
  labelSelector: string,
): Promise<Informed> {
  const informer = makeInformer<T>(
    world.cluster.config,
    path,
    () => resource.listAll({ labelSelector }),
    labelSelector,
  );
  const seen: { verb: string; version: string }[] = [];
  for (const verb of ['add', 'update', 'delete'] as const)
    informer.on(verb, ({ metadata }) => void seen.push({ verb, version: metadata?.resourceVersion ?? '' }));
  await informer.start();
  return { seen, stop: () => informer.stop() };
}

/** The informer reports these changes of one object, each newer than the one before; further updates are ignored. */
async function expectInformed({ seen }: Informed, first: string, last: string): Promise<void> {
  await eventually(`the informer reports ${last}`, SYNC_MS, () => seen.some(({ verb }) => verb === last));
  expect(seen[0]?.verb).toBe(first);
  const versions = seen.map(({ version }) => BigInt(version));
  expect(versions).toEqual(versions.toSorted((one, other) => (one < other ? -1 : 1)));
  seen.length = 0;
}

/** The common routine of the newer tests: everything with informers, and every way to patch, on the object and its status. */
function crud<T extends KubernetesObject>({ codename, kind, body, change, patches, status }: Crud<T>): Proof {
  return proof(codename, async (world) => {
    const { group, version, resource: plural } = kind;
    const namespace = kind.scope === 'Namespaced' ? await world.namespace() : '';
    const resource = new Resource<T>(world.cluster, kind, namespace);
    const list = await documentAt<{ resources: readonly { name: string }[] }>(
      world.cluster,
      `/apis/${group}/${version}`,
    );
    expect(list.resources.map(({ name }) => name)).toContain(plural);

    const name = world.unique('crud');
    const labelSelector = `conformance=${name}`;
    world.atEnd(() => resource.deleteCollection({ labelSelector }));
    const wanted = { ...body, metadata: { name, labels: { conformance: name } } } as unknown as T;
    const root = `/apis/${group}/${version}`;
    const informers = [await inform(world, resource, `${root}/${plural}`, labelSelector)];
    world.atEnd(async () => Promise.all(informers.map(({ stop }) => stop())));

    const created = await resource.create(wanted, STRICT);
    for (const informer of informers) await expectInformed(informer, 'add', 'add');
    expect((await resource.get(name)).metadata?.uid).toBe(created.metadata?.uid);
    const updated = await write(resource, name, change, '');
    expectNewer(updated, created);
    for (const informer of informers) await expectInformed(informer, 'update', 'update');
    if (status !== undefined) {
      expect((await resource.get(name, 'status')).metadata?.uid).toBe(created.metadata?.uid);
      expectNewer(await write(resource, name, status.change, 'status'), updated);
      for (const informer of informers) await expectInformed(informer, 'update', 'update');
    }
    await resource.delete(name);
    await expectNotFound(resource.get(name));
    for (const informer of informers) await expectInformed(informer, 'delete', 'delete');

    const document = { apiVersion: `${group}/${version}`, kind: kind.kind, metadata: { name } };
    await expectPatched(resource, wanted, patches, change, '', document);
    if (status !== undefined) await expectPatched(resource, wanted, status.patches, status.change, 'status', document);

    await resource.create(wanted, STRICT);
    expect((await resource.list({ labelSelector })).items).toHaveLength(1);
    await resource.deleteCollection({ labelSelector });
    expect((await resource.list({ labelSelector })).items).toHaveLength(0);
  });
}

async function write<T extends KubernetesObject>(resource: Resource<T>, name: string, change: Fields, at: string) {
  const written = await retryOnConflict(async () => {
    const found = await resource.get(name);
    mergeInto(found as unknown as Record<string, unknown>, change);
    return await resource.replace(found, at);
  });
  expect(written).toMatchObject(change);
  return written;
}

/** Each patch changes a fresh object. */
async function expectPatched<T extends KubernetesObject>(
  resource: Resource<T>,
  wanted: T,
  patches: Patches,
  change: Fields,
  subresource: string,
  document: Fields,
): Promise<void> {
  const name = wanted.metadata?.name ?? '';
  for (const [type, patch] of Object.entries(patches) as [PatchType, unknown][]) {
    const created = await resource.create(wanted, STRICT);
    const applied = type === 'apply';
    const body = applied ? merged(document, patch as Fields) : patch;
    const query = { ...STRICT, ...(applied ? { fieldManager: 'test-apply', force: true } : {}) };
    const patched = await resource.patch(name, type, body, subresource, query);
    expect(patched, type).toMatchObject(change);
    expectNewer(patched, created);
    await resource.delete(name);
    await expectNotFound(resource.get(name));
  }
}

function merged(document: Fields, patch: Fields): Fields {
  const result = structuredClone(document) as Record<string, unknown>;
  mergeInto(result, patch);
  return result;
}

/** The same change, written in all four ways. */
function everyWay(change: Fields, operation: object): Patches {
  return { strategic: change, apply: change, merge: change, json: [operation] };
}

const LABELLED = { metadata: { labels: { 'test.dra.example.com': 'test' } } };
const ALLOCATED = { status: { allocation: {} } };
const CLAIM = {
  devices: { requests: [{ name: 'req-0', exactly: { deviceClassName: 'dra.example.com' } }] },
};

export const DEVICE_PROOFS: readonly Proof[] = [
  crud<V1DeviceClass>({
    codename: '[sig-node] [DRA] CRUD Tests resource.k8s.io/v1 DeviceClass [Conformance]',
    kind: KINDS.DeviceClass,
    body: { spec: { selectors: [{ cel: { expression: 'true' } }] } },
    change: { spec: { selectors: [{ cel: { expression: '1 == 0' } }] } },
    patches: { strategic: { spec: { selectors: [{ cel: { expression: '1 == 0' } }] } } },
  }),
  crud<ResourceV1ResourceClaim>({
    codename: '[sig-node] [DRA] CRUD Tests resource.k8s.io/v1 ResourceClaim [Conformance]',
    kind: KINDS.ResourceClaim,
    body: { spec: CLAIM },
    change: LABELLED,
    patches: everyWay(LABELLED, { op: 'add', path: '/metadata/labels/test.dra.example.com', value: 'test' }),
    status: {
      change: ALLOCATED,
      patches: everyWay(ALLOCATED, { op: 'add', path: '/status/allocation', value: {} }),
    },
  }),
  crud<V1ResourceClaimTemplate>({
    codename: '[sig-node] [DRA] CRUD Tests resource.k8s.io/v1 ResourceClaimTemplate [Conformance]',
    kind: KINDS.ResourceClaimTemplate,
    body: { spec: { spec: CLAIM } },
    change: LABELLED,
    patches: { strategic: LABELLED },
  }),
  crud<V1ResourceSlice>({
    codename: '[sig-node] [DRA] CRUD Tests resource.k8s.io/v1 ResourceSlice [Conformance]',
    kind: KINDS.ResourceSlice,
    body: {
      spec: {
        driver: 'dra.example.com',
        pool: { name: 'cluster', generation: 1, resourceSliceCount: 1 },
        nodeName: 'no-such-node',
        devices: [],
      },
    },
    change: { spec: { devices: [{ name: 'device-0' }] } },
    patches: { strategic: { spec: { devices: [{ name: 'device-0' }] } } },
  }),
];
