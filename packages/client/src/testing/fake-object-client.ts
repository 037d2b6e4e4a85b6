import {
  APPLY_PATCH_TYPE,
  applyConfiguration,
  applyPatch,
  managedKindOf,
  type ResourceDefinition,
} from '@gantry/apimachinery';
import { customDefinitions } from '@gantry/custom-resources';
import { findResource, optionalResources } from '@gantry/kinds';
import {
  apiVersionOf,
  cloneJson,
  CUSTOM_RESOURCE_DEFINITIONS,
  equalJson,
  formatKey,
  type JsonObject,
  keyOf,
  type Eviction,
  type KubeObject,
  type Lease,
  LEASES,
  type ObjectKey,
  parseLabelSelector,
  type Resource,
  StatusError,
} from '@gantry/objects';
import { type Clock, formatTime, must } from '@gantry/base';
import { ObjectCalls } from '../object-calls.ts';
import { writeResult } from '../write-result.ts';
import type { ListOptions, ObjectList, ObjectWrite, WatchEvent, WatchOptions, WriteResult } from '../object-client.ts';

/** One change, as watches report it. */
interface Change {
  readonly resource: string;
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
  readonly old: KubeObject | undefined;
}

interface OpenWatch {
  readonly wake: () => void;
  failure: StatusError | undefined;
}

const VERSIONS_PER_REVISION = 256;

/**
 * An in-memory API server behind the client's interface. It has versions, conflicts, preconditions, finalizers, patches, status
 * subresources, selectors and watches. It does not validate, default or authorise, and has no grace periods.
 */
export class FakeObjectClient extends ObjectCalls {
  readonly #clock: Clock;
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #watches = new Set<OpenWatch>();
  /** Every attempted write, in order. */
  readonly writes: ObjectWrite[] = [];
  #history: Change[] = [];
  #revision = 1;
  #forgottenBelow = 0;
  #uids = 0;
  #failures: { readonly matches: (call: FakeCall) => boolean; readonly error: StatusError; left: number }[] = [];

  constructor(clock: Clock) {
    super();
    this.#clock = clock;
  }

  /** The newest revision. */
  get revision(): number {
    return this.#revision;
  }

  /** Makes the next `times` calls that match fail. */
  failNext(matches: (call: FakeCall) => boolean, error: StatusError, times = 1): void {
    this.#failures.push({ matches, error, left: times });
  }

  /** Breaks every open watch, as a lost connection does. */
  breakWatches(error = StatusError.unavailable('connection lost')): void {
    for (const watch of this.#watches) {
      watch.failure = error;
      watch.wake();
    }
  }

  /** Forgets all history: a watch at an older version fails with Expired. */
  compact(): void {
    this.#history = [];
    this.#forgottenBelow = this.#version();
  }

  /** All objects of a resource, as they are now. */
  all<T extends KubeObject>(resource: Resource<T>): readonly T[] {
    return [...this.#bucket(resource).values()] as T[];
  }

  /** Creates an object as another client would. Keeps its creationTimestamp if it has one. */
  async put<T extends KubeObject>(resource: Resource<T>, object: T): Promise<T> {
    const { namespace = '', creationTimestamp } = object.metadata;
    const created = this.#create(resource, namespace, object, creationTimestamp);
    return created as T;
  }

  async get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, signal: AbortSignal): Promise<T> {
    await this.#arrive({ verb: 'get', resource, name: key.name }, signal);
    return this.#mustFind(resource, key) as T;
  }

  async list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    signal: AbortSignal,
  ): Promise<ObjectList<T>> {
    await this.#arrive({ verb: 'list', resource, name: '' }, signal);
    const matches = matcherOf(options);
    return {
      items: this.all(resource).filter(matches).map(shapeOf(options)),
      resourceVersion: String(this.#version() + VERSIONS_PER_REVISION - 1),
      continueToken: '',
    };
  }

  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent<T>[]> {
    await this.#arrive({ verb: 'watch', resource, name: '' }, signal);
    const matches = matcherOf(options);
    const shape = shapeOf<T>(options);
    let reached = Number(options.resourceVersion ?? '') || this.#version() + VERSIONS_PER_REVISION - 1;
    if (options.sendInitialEvents !== true && reached < this.#forgottenBelow) {
      throw StatusError.expired('too old resource version');
    }
    yield [];
    if (options.sendInitialEvents === true) {
      reached = this.#version() + VERSIONS_PER_REVISION - 1;
      const initial = this.all(resource).filter(matches).map(shape);
      const bookmark = { type: 'BOOKMARK', resourceVersion: String(reached), initialEventsEnd: true } as const;
      yield [...initial.map((object) => ({ type: 'ADDED', object }) as const), bookmark];
    }
    const id = idOf(resource);
    for (;;) {
      const watch = this.#open();
      try {
        const fresh = this.#history.filter((change) => change.version > reached && change.resource === id);
        const last = this.#history.at(-1);
        if (last !== undefined && last.version > reached) {
          reached = last.version;
          const bookmark = { type: 'BOOKMARK', resourceVersion: String(reached), initialEventsEnd: false } as const;
          yield [...fresh.flatMap((change) => eventOf<T>(change, matches, shape)), bookmark];
          continue;
        }
        await watch.woken(signal);
      } finally {
        this.#watches.delete(watch.entry);
      }
      if (watch.entry.failure !== undefined) throw watch.entry.failure;
    }
  }

  async write(write: ObjectWrite, signal: AbortSignal): Promise<KubeObject> {
    const name = write.verb === 'create' ? (write.name ?? write.object.metadata.name ?? '') : write.key.name;
    this.writes.push(write);
    await this.#arrive({ verb: write.verb, resource: write.resource, name }, signal);
    this.#checkFence(write, name);
    return this.#apply(write);
  }

  async batch(writes: readonly ObjectWrite[], signal: AbortSignal): Promise<readonly WriteResult[]> {
    return await Promise.all(writes.map((write) => writeResult(this.write(write, signal))));
  }

  #open(): { entry: OpenWatch; woken: (signal: AbortSignal) => Promise<void> } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const entry: OpenWatch = { wake: resolve, failure: undefined };
    this.#watches.add(entry);
    const woken = async (signal: AbortSignal): Promise<void> => {
      signal.addEventListener('abort', () => resolve(), { once: true });
      if (!signal.aborted) await promise;
      signal.throwIfAborted();
    };
    return { entry, woken };
  }

  async #arrive(call: FakeCall, signal: AbortSignal): Promise<void> {
    // As over a network, never in the same turn.
    await Promise.resolve();
    signal.throwIfAborted();
    const failure = this.#failures.find(({ matches, left }) => left > 0 && matches(call));
    if (failure === undefined) return;
    failure.left -= 1;
    throw failure.error;
  }

  #checkFence({ resource, fence }: ObjectWrite, name: string): void {
    if (fence === undefined) return;
    const { metadata, spec } = (this.#bucket(LEASES).get(formatKey(fence)) ?? {}) as Partial<Lease>;
    const { uid, holder, transitions } = fence;
    const isTerm = spec?.holderIdentity === holder && (spec.leaseTransitions ?? 0) === transitions;
    if (metadata?.uid !== uid || !isTerm)
      throw StatusError.leadershipEnded(resource, name, `the term of ${fence.holder} has ended`);
  }

  #apply(write: ObjectWrite): KubeObject {
    switch (write.verb) {
      case 'create':
        if (write.subresource === 'binding') return this.#bind(write.resource, write.namespace, write.object);
        if (write.subresource === 'eviction') return this.#evict(write.resource, write.namespace, write.object);
        return this.#create(write.resource, write.namespace, write.object);
      case 'update':
        return this.#update(write.resource, write.key, write.object, write.subresource);
      case 'patch': {
        const definition = this.#definitionOf(write.resource);
        if (write.patchType === APPLY_PATCH_TYPE) return this.#applyConfiguration(write, definition);
        const old = this.#mustFind(write.resource, write.key);
        const bytes = new TextEncoder().encode(JSON.stringify(write.patch));
        const patched = applyPatch(old, { type: write.patchType, bytes }, { definition, mode: 'Ignore' });
        return this.#update(write.resource, write.key, patched.object as KubeObject, write.subresource);
      }
      case 'delete':
        return this.#delete(write.resource, write.key, write.options?.preconditions ?? {});
    }
  }

  /** Creates an object that is not there, unless a subresource is applied. */
  #applyConfiguration(write: Extract<ObjectWrite, { verb: 'patch' }>, definition: ResourceDefinition): KubeObject {
    const { resource, key, subresource } = write;
    const config = write.patch as JsonObject;
    const isNew = subresource === undefined && !this.#bucket(resource).has(formatKey(key));
    const applied = applyConfiguration({
      of: managedKindOf(definition, subresource ?? ''),
      live: isNew ? undefined : this.#mustFind(resource, key),
      config,
      manager: write.fieldManager ?? 'fake',
      force: true,
      now: this.#clock.now(),
    });
    return isNew ? this.#create(resource, key.namespace, applied) : this.#update(resource, key, applied, subresource);
  }

  /** Custom resources come from the stored definitions. */
  #definitionOf(resource: Resource): ResourceDefinition {
    const custom = this.all(CUSTOM_RESOURCE_DEFINITIONS).flatMap((crd) => customDefinitions(crd, {}));
    const isMeant = (of: Resource) => of.version === resource.version && idOf(of) === idOf(resource);
    return must(findResource(resource) ?? [...optionalResources, ...custom].find(isMeant), resource.resource);
  }

  #create(
    resource: Resource,
    namespace: string,
    object: KubeObject,
    creationTimestamp = formatTime(this.#clock.now()),
  ): KubeObject {
    const { generateName } = object.metadata;
    this.#uids += 1;
    const name = object.metadata.name ?? `${generateName ?? ''}${String(this.#uids).padStart(5, '0')}`;
    if (this.#bucket(resource).has(formatKey({ namespace, name }))) throw StatusError.alreadyExists(resource, name);
    const created = cloneJson(object);
    created.metadata = {
      ...created.metadata,
      name,
      ...(namespace === '' ? {} : { namespace }),
      uid: `uid-${this.#uids}`,
      creationTimestamp,
    };
    return this.#store(resource, 'ADDED', { ...created, apiVersion: apiVersionOf(resource) }, undefined);
  }

  #update(resource: Resource, key: ObjectKey, object: KubeObject, subresource: string | undefined): KubeObject {
    const old = this.#mustFind(resource, key);
    const { resourceVersion, uid } = object.metadata;
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
      throw StatusError.conflict(resource, key.name);
    }
    if (uid !== undefined && uid !== old.metadata.uid) throw StatusError.conflict(resource, key.name);
    const next = merge(old, cloneJson(object), subresource);
    if (equalJson(next, old)) return old;
    const isGone = next.metadata.deletionTimestamp !== undefined && (next.metadata.finalizers ?? []).length === 0;
    return this.#store(resource, isGone ? 'DELETED' : 'MODIFIED', next, old);
  }

  #bind(resource: Resource, namespace: string, binding: KubeObject): KubeObject {
    const key = { namespace, name: binding.metadata.name ?? '' };
    const old = this.#mustFind(resource, key) as KubeObject & { spec?: { nodeName?: string } };
    if ((old.spec?.nodeName ?? '') !== '') throw StatusError.conflict(resource, key.name, 'it is bound already');
    const nodeName = (binding as KubeObject & { target?: { name?: string } }).target?.name ?? '';
    const next = { ...old, spec: { ...old.spec, nodeName } };
    return this.#store(resource, 'MODIFIED', next, old);
  }

  /** Evicts a pod that no budget protects. */
  #evict(resource: Resource, namespace: string, eviction: Eviction & KubeObject): KubeObject {
    const key = { namespace, name: eviction.metadata.name ?? '' };
    return this.#delete(resource, key, eviction.deleteOptions?.preconditions ?? {});
  }

  #delete(resource: Resource, key: ObjectKey, wanted: { uid?: string; resourceVersion?: string }): KubeObject {
    const old = this.#mustFind(resource, key);
    const { uid, resourceVersion, deletionTimestamp, finalizers = [] } = old.metadata;
    if (wanted.uid !== undefined && wanted.uid !== uid) throw StatusError.conflict(resource, key.name);
    if (wanted.resourceVersion !== undefined && wanted.resourceVersion !== resourceVersion) {
      throw StatusError.conflict(resource, key.name);
    }
    if (finalizers.length === 0) return this.#store(resource, 'DELETED', old, old);
    if (deletionTimestamp !== undefined) return old;
    const metadata = { ...old.metadata, deletionTimestamp: formatTime(this.#clock.now()) };
    return this.#store(resource, 'MODIFIED', { ...old, metadata }, old);
  }

  #store(resource: Resource, type: Change['type'], object: KubeObject, old: KubeObject | undefined): KubeObject {
    this.#revision += 1;
    const version = this.#version();
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const key = formatKey(keyOf(stored));
    if (type === 'DELETED') this.#bucket(resource).delete(key);
    else this.#bucket(resource).set(key, stored);
    this.#history.push({ resource: idOf(resource), version, type, object: stored, old });
    for (const { wake } of this.#watches) wake();
    return stored;
  }

  #version(): number {
    return this.#revision * VERSIONS_PER_REVISION;
  }

  #bucket(resource: Resource): Map<string, KubeObject> {
    const id = idOf(resource);
    const bucket = this.#objects.get(id) ?? new Map<string, KubeObject>();
    this.#objects.set(id, bucket);
    return bucket;
  }

  #mustFind(resource: Resource, key: ObjectKey): KubeObject {
    const found = this.#bucket(resource).get(formatKey(key));
    if (found === undefined) throw StatusError.notFound(resource, key.name);
    return found;
  }
}

/** One call, for the choice of calls that fail. */
export interface FakeCall {
  readonly verb: 'get' | 'list' | 'watch' | ObjectWrite['verb'];
  readonly resource: Resource;
  readonly name: string;
}

function idOf({ group, resource }: { group: string; resource: string }): string {
  return `${group}/${resource}`;
}

/** The fields that an update may change: only the status through its subresource, all but the status otherwise. */
function merge(old: KubeObject, object: KubeObject, subresource: string | undefined): KubeObject {
  const system = {
    uid: old.metadata.uid,
    creationTimestamp: old.metadata.creationTimestamp,
    resourceVersion: old.metadata.resourceVersion,
  };
  const status = (of: KubeObject): object => ('status' in of ? { status: of.status } : {});
  if (subresource === 'status' || subresource === 'approval') {
    // As in Kubernetes, whose strategies reset only the spec and the labels.
    const { annotations } = object.metadata;
    return { ...old, metadata: { ...old.metadata, ...(annotations && { annotations }) }, ...status(object) };
  }
  const { status: _given, ...rest } = object as KubeObject & { status?: unknown };
  const deleting =
    old.metadata.deletionTimestamp === undefined ? {} : { deletionTimestamp: old.metadata.deletionTimestamp };
  const metadata = Object.fromEntries(
    Object.entries({ ...object.metadata, ...system, ...deleting }).filter(([, value]) => value !== undefined),
  );
  return { ...rest, metadata, ...status(old) };
}

function matcherOf(options: ListOptions | WatchOptions): (object: KubeObject) => boolean {
  const selector = parseLabelSelector(options.labelSelector ?? '');
  const namespace = options.namespace ?? '';
  return ({ metadata }) => (namespace === '' || metadata.namespace === namespace) && selector.matches(metadata.labels);
}

/** The whole object, or only its metadata. */
function shapeOf<T extends KubeObject>({ metadataOnly }: ListOptions | WatchOptions): (object: T) => T {
  if (metadataOnly !== true) return (object) => object;
  return ({ apiVersion, kind, metadata: { managedFields: _managed, ...metadata } }) =>
    ({ apiVersion, kind, metadata }) as T;
}

/** The events of a change for a watch with a selector: an object may start or stop matching it. */
function eventOf<T extends KubeObject>(
  change: Change,
  matches: (object: KubeObject) => boolean,
  shape: (object: T) => T,
): WatchEvent<T>[] {
  const before = change.old !== undefined && matches(change.old);
  const after = change.type !== 'DELETED' && matches(change.object);
  const object = shape(change.object as T);
  if (after) return [{ type: before ? 'MODIFIED' : 'ADDED', object }];
  return before ? [{ type: 'DELETED', object }] : [];
}
