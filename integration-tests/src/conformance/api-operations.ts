import type { KubernetesObject } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { expectDiscovered } from './discovery-documents.ts';
import { expectAlreadyExists, expectNewer, expectNotFound, retryOnConflict, versionOf } from './outcome.ts';
import { Resource, type ResourceKind, type Selection } from './resource.ts';
import type { Watching } from './watching.ts';
import { type Proof, proof, type World } from './world.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What the official "API operations" tests ask of one resource beside what they ask of all. */
export interface Operations<T extends KubernetesObject> {
  readonly codename: string;
  readonly kind: ResourceKind;
  readonly subresources?: readonly string[];
  /** What is created, without metadata; three of them, which may differ. */
  readonly body: (number: number, world: World) => Omit<T, 'metadata'>;
  /** Names are chosen by the test instead of the server, and the second creation of one is refused. */
  readonly names?: 'chosen';
  /** A part of the merge patch beside an annotation, as the patched object must hold it. */
  readonly patched?: Fields;
  /** Part of what the update changes beside an annotation. */
  readonly updated?: Fields;
  /** What is asked of its subresources, given the object as it is by then. */
  readonly more?: (resource: Resource<T>, name: string, created: T) => Promise<void>;
  /** Another way than by label to tell the test's objects. */
  readonly selection?: (objects: readonly T[]) => Selection;
}

/**
 * Discovery; create three; get; list, of all namespaces too; watch; patch; update with retries; both seen by the
 * watches; subresources; delete one; delete the rest as a collection.
 */
export function apiOperations<T extends KubernetesObject>(operations: Operations<T>): Proof {
  return proof(operations.codename, async (world) => {
    const { kind } = operations;
    const namespace = kind.scope === 'Namespaced' ? await world.namespace() : '';
    const resource = new Resource<T>(world.cluster, kind, namespace);
    await expectDiscovered(world.cluster, kind, operations.subresources);

    const label = world.unique('label');
    world.atEnd(() => resource.deleteCollection({ labelSelector: `conformance=${label}` }));
    const created = await createThree(world, resource, operations, label);
    const [first] = created;
    const name = first.metadata?.name ?? '';
    const selection = operations.selection?.(created) ?? { labelSelector: `conformance=${label}` };

    const got = await resource.get(name);
    expect(got.metadata?.uid).toBe(first.metadata?.uid);
    versionOf(got);
    const list = await resource.list(selection);
    expect(list.items).toHaveLength(3);
    expect((await resource.listAll(selection)).items).toHaveLength(3);

    const since = { ...selection, resourceVersion: list.metadata?.resourceVersion ?? '' };
    using own = await resource.watch(since);
    using all = await resource.watchAll(since);
    const patched = await patchIt(resource, name, operations);
    expectNewer(patched, got);
    await updateIt(resource, name, operations);
    for (const watch of [own, all]) await expectSeen(watch, name, operations);

    await operations.more?.(resource, name, first);

    await resource.delete(name);
    await expectGone(resource, name);
    expect(await lasting(resource, selection)).toHaveLength(2);
    await resource.deleteCollection(selection);
    expect(await lasting(resource, selection)).toHaveLength(0);
  });
}

async function createThree<T extends KubernetesObject>(
  world: World,
  resource: Resource<T>,
  { body, names, kind }: Operations<T>,
  label: string,
): Promise<readonly [T, T, T]> {
  const base = world.unique(kind.kind.toLowerCase());
  const one = async (number: number): Promise<T> => {
    const named = names === 'chosen' ? { name: `${base}-${number}` } : { generateName: `${base}-` };
    const wanted = { ...body(number, world), metadata: { ...named, labels: { conformance: label } } } as unknown as T;
    const made = await resource.create(wanted);
    if (names === 'chosen' && number === 1) await expectAlreadyExists(resource.create(wanted));
    return made;
  };
  return [await one(1), await one(2), await one(3)];
}

async function patchIt<T extends KubernetesObject>(
  resource: Resource<T>,
  name: string,
  { patched = {} }: Operations<T>,
): Promise<T> {
  const change = { metadata: { annotations: { patched: 'true' } }, ...patched };
  const answer = await resource.patch(name, 'merge', change);
  expect(answer).toMatchObject(change);
  return answer;
}

async function updateIt<T extends KubernetesObject>(
  resource: Resource<T>,
  name: string,
  { updated = {} }: Operations<T>,
): Promise<void> {
  const answer = await retryOnConflict(async () => {
    const object = await resource.get(name);
    object.metadata = { ...object.metadata, annotations: { ...object.metadata?.annotations, updated: 'true' } };
    mergeInto(object as unknown as Record<string, unknown>, updated);
    return await resource.replace(object);
  });
  expect(answer).toMatchObject({ metadata: { annotations: { patched: 'true', updated: 'true' } }, ...updated });
}

/** The patch and then the update, each as a change of what was there. */
async function expectSeen<T extends KubernetesObject>(
  watch: Watching<T>,
  name: string,
  { patched = {}, updated = {} }: Operations<T>,
): Promise<void> {
  // A controller may have written its status before.
  const patch = await watch.until(
    `the patch of ${name}`,
    ({ object }) => object.metadata?.name === name && object.metadata.annotations?.['patched'] === 'true',
  );
  expect(patch).toMatchObject({
    type: 'MODIFIED',
    object: { metadata: { annotations: { patched: 'true' } }, ...patched },
  });
  const update = await watch.until(
    `the update of ${name}`,
    ({ object }) => object.metadata?.annotations?.['updated'] === 'true',
  );
  expect(update).toMatchObject({ type: 'MODIFIED', object: updated });
  expectNewer(update.object, patch.object);
}

/** Gone, or about to go when its finalizers have been taken away. */
export async function expectGone<T extends KubernetesObject>(resource: Resource<T>, name: string): Promise<void> {
  const found = (await resource.list({ fieldSelector: `metadata.name=${name}` })).items[0];
  if (found === undefined) return await expectNotFound(resource.get(name));
  expect(found.metadata?.deletionTimestamp).toBeDefined();
  expect(found.metadata?.finalizers ?? []).not.toHaveLength(0);
}

/** Those of the selection that are not about to go. */
export async function lasting<T extends KubernetesObject>(resource: Resource<T>, selection: Selection): Promise<T[]> {
  const { items } = await resource.list(selection);
  return items.filter(
    ({ metadata }) => metadata?.deletionTimestamp === undefined || (metadata.finalizers ?? []).length === 0,
  );
}

export function mergeInto(target: Record<string, unknown>, change: Fields): void {
  for (const [key, value] of Object.entries(change)) {
    const inner = target[key];
    const deeper = isFields(value) && isFields(inner);
    if (deeper) mergeInto(inner, value);
    else target[key] = value;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
