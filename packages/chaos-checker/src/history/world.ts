import { Buffer } from 'node:buffer';
import type { EngineLine, EtcdEvent, FaultLine, KeyValue, Run } from '../artifacts.ts';
import type { Source } from '../read-artifacts.ts';
import type { ApiObject } from './api-objects.ts';
import { decodeKubernetes, KubernetesNames } from './kubernetes-storage.ts';
import {
  decodeStored,
  type Fence,
  type ObjectName,
  parseObjectKey,
  REGISTRY,
  type StoredValue,
  VERSIONS_PER_REVISION,
} from './stored-value.ts';

/** A version of an object in etcd. */
export interface ObjectVersion extends ObjectName {
  readonly key: string;
  readonly revision: number;
  readonly resourceVersion: number;
  readonly atMs: number;
  readonly source: Source;
  readonly fence: Fence;
  readonly writer: string;
  /** undefined if the object is sealed or no JSON. Parsed when first read. */
  readonly object: ApiObject | undefined;
}

/** A change of one object: created, updated or removed. */
export interface Change extends ObjectName {
  readonly key: string;
  readonly atMs: number;
  readonly revision: number;
  readonly resourceVersion: number;
  readonly source: Source;
  readonly before: ObjectVersion | undefined;
  readonly after: ObjectVersion | undefined;
  /** The leadership under which it was written; undefined for the write of a user, an agent or the API server. */
  readonly fence: Fence | undefined;
}

/** A key outside of `/registry/` that was put or deleted. */
export interface KeyChange {
  readonly key: string;
  readonly atMs: number;
  readonly revision: number;
  readonly source: Source;
  /** undefined: deleted. */
  readonly value: Buffer | undefined;
  readonly createRevision: number;
}

/** The present term of an election. */
export interface Term {
  readonly epoch: number;
  readonly holder: string;
  readonly atMs: number;
  readonly source: Source;
}

/** A container on an engine. */
export interface ContainerState {
  readonly host: string;
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly running: boolean;
  /** When `running` last changed, as far as is known. */
  readonly atMs: number;
  readonly source: Source;
}

/** A container that appeared, started, stopped or was removed. */
export interface ContainerChange {
  readonly before: ContainerState | undefined;
  readonly after: ContainerState | undefined;
  readonly action: string;
  readonly atMs: number;
  readonly source: Source;
}

/** What is there of a key: how often it was written since its creation, when it was created and written, and its value where that is kept. */
export type KeyVersion = Pick<KeyValue, 'version' | 'createRevision' | 'modRevision'> &
  Partial<Pick<KeyValue, 'value'>>;

const POD_UID = 'io.kubernetes.pod.uid';
const NO_FENCE: Fence = { electionKey: '', epoch: 0, incarnation: '' };
const DELETED = '/gantry/deleted';
const ELECTIONS = '/gantry/elections/';
const RUNNING: ReadonlySet<string> = new Set(['running', 'paused']);

/** The state of cluster and engines at the present line of the run: the index that all invariants share. */
export class World {
  readonly run: Pick<Run, 'clusterId' | 'incarnation' | 'options' | 'storage' | 'quietFromMs'> & {
    readonly endedAtMs?: number;
  };
  /** The end of the same workload without faults, if the run has it. */
  undisturbed: World | undefined;
  readonly objects = new Map<string, ObjectVersion>();
  /** Objects by key, by resource. */
  readonly byResource = new Map<string, Map<string, ObjectVersion>>();
  readonly byUid = new Map<string, ObjectVersion>();
  /** Keys of objects by the uid of each owner. */
  readonly dependents = new Map<string, Set<string>>();
  readonly terms = new Map<string, Term>();
  incarnation = '';
  /** By host and id. */
  readonly containers = new Map<string, ContainerState>();
  /** Containers by the uid of their pod, by host and id. */
  readonly #containersOfPods = new Map<string, Map<string, ContainerState>>();
  /** By id of the fault, from its start until the cluster was healthy again. Only its start has details, which stay. */
  readonly faults = new Map<string, FaultLine>();
  /** Since when no fault has acted; undefined while one does. */
  calmSinceMs: number | undefined = 0;
  /** What is wrong with the artefacts; nothing that needs etcd's history is certain then. */
  readonly problems: string[] = [];
  nowMs = 0;
  /** Another object after each restore of a snapshot. */
  history: object = {};
  /** Whether `versions` has the values: only where a snapshot was restored, they are needed. */
  values: 'kept' | 'forgotten' = 'forgotten';
  readonly #versions = new Map<string, KeyVersion>();
  /** How many resourceVersions a revision of etcd has. */
  readonly versionsPerRevision: number;
  /** Of Kubernetes' objects; undefined where etcd is Gantry's. */
  readonly #foreign: KubernetesNames | undefined;

  constructor(run: World['run']) {
    this.run = run;
    this.incarnation = run.incarnation;
    this.#foreign = run.storage === 'kubernetes' ? new KubernetesNames() : undefined;
    this.versionsPerRevision = this.#foreign === undefined ? VERSIONS_PER_REVISION : 1;
  }

  /** Objects of a resource: `pods`, `apps/deployments`. */
  list(resource: string): Iterable<ObjectVersion> {
    return this.byResource.get(resource)?.values() ?? [];
  }

  get(resource: string, namespace: string, name: string): ObjectVersion | undefined {
    return this.byResource.get(resource)?.get(keyOf({ resource, namespace, name }));
  }

  /** Objects that name the owner, of one resource. */
  dependentsOf(uid: string | undefined, resource: string): readonly ObjectVersion[] {
    const keys = uid === undefined ? [] : [...(this.dependents.get(uid) ?? [])];
    const found = this.byResource.get(resource);
    return found === undefined ? [] : keys.flatMap((key) => found.get(key) ?? []);
  }

  /** How long no fault has acted. */
  calmMs(): number {
    return this.calmSinceMs === undefined ? 0 : this.nowMs - this.calmSinceMs;
  }

  problem(what: string): void {
    if (this.problems.length < 100) this.problems.push(what);
  }

  /** What is there of each key. */
  versions(): ReadonlyMap<string, KeyVersion> {
    return new Map(this.#versions);
  }

  /** Takes the state after a snapshot was restored for etcd's, and `atMs` for when it arose. Containers and faults are what they were. */
  restore(keys: readonly KeyValue[], atMs: number, source: Source): void {
    for (const map of [this.objects, this.byResource, this.byUid, this.dependents, this.terms, this.#versions])
      map.clear();
    this.history = {};
    for (const kv of keys) this.applyInitial(kv.key, { ...kv, type: 'put' }, source, atMs);
  }

  /** Applies the events of one revision. Returns what they changed. */
  applyRevision(
    revision: number,
    atMs: number,
    events: readonly EtcdEvent[],
    source: Source,
  ): { readonly changes: readonly Change[]; readonly keys: readonly KeyChange[] } {
    const changes: Change[] = [];
    const keys: KeyChange[] = [];
    const fences = new Map<string, Fence>();
    const lastIndex = new Map<string, number>();
    for (const event of events) {
      this.#checkVersion(event, source);
      if (event.type === 'put' && event.key.startsWith(DELETED)) {
        const fence = deletionFence(event.value);
        if (fence !== undefined) fences.set(event.key.slice(DELETED.length), fence);
      }
    }
    for (const event of events) {
      if (!event.key.startsWith(REGISTRY)) {
        keys.push(this.#applyKey(event, atMs, source));
        continue;
      }
      const change = this.#applyObject(event, { revision, atMs, source }, fences, lastIndex);
      if (change !== undefined) changes.push(change);
    }
    return { changes, keys };
  }

  /** The state before the first revision, or after a restore. */
  applyInitial(key: string, event: EtcdEvent & { type: 'put' }, source: Source, atMs = 0): void {
    this.#setVersion(event);
    if (key.startsWith(REGISTRY))
      this.#applyObject(event, { revision: event.modRevision, atMs, source }, new Map(), new Map());
    else this.#applyKey(event, atMs, source);
  }

  /** A version that skips one shows that an event is missing. */
  #checkVersion(event: EtcdEvent, source: Source): void {
    const before = this.#versions.get(event.key);
    if (event.type === 'delete') {
      if (before === undefined)
        this.problem(`${source.file}:${source.line}: ${event.key} is deleted, but was not there`);
      this.#versions.delete(event.key);
      return;
    }
    const expected = before === undefined ? 1 : before.version + 1;
    if (event.version !== expected || (before !== undefined && event.createRevision !== before.createRevision)) {
      const what = `version ${event.version} of ${event.key} follows ${before?.version ?? 'none'}`;
      this.problem(`${source.file}:${source.line}: ${what}: events are missing`);
    }
    this.#setVersion(event);
  }

  #setVersion({ key, version, createRevision, modRevision, value }: KeyValue): void {
    const kept = this.values === 'kept' ? { value } : {};
    this.#versions.set(key, { version, createRevision, modRevision, ...kept });
  }

  #applyKey(event: EtcdEvent, atMs: number, source: Source): KeyChange {
    const value = event.type === 'put' ? Buffer.from(event.value, 'base64') : undefined;
    const createRevision = event.type === 'put' ? event.createRevision : 0;
    if (event.key.startsWith(ELECTIONS)) {
      if (value === undefined) this.terms.delete(event.key);
      else {
        const before = this.terms.get(event.key);
        const holder = value.toString();
        // A renewal keeps the time at which the term began.
        if (before?.epoch !== createRevision)
          this.terms.set(event.key, { epoch: createRevision, holder, atMs, source });
      }
    }
    if (event.key === '/gantry/incarnation') this.incarnation = value?.toString() ?? '';
    return { key: event.key, atMs, revision: event.modRevision, source, value, createRevision };
  }

  #applyObject(
    event: EtcdEvent,
    at: { revision: number; atMs: number; source: Source },
    fences: ReadonlyMap<string, Fence>,
    lastIndex: Map<string, number>,
  ): Change | undefined {
    const name = this.#foreign === undefined ? parseObjectKey(event.key) : this.#foreign.nameOf(event);
    const decode = this.#foreign === undefined ? decodeStored : decodeKubernetes;
    const stored = event.type === 'put' ? decode(Buffer.from(event.value, 'base64')) : undefined;
    if (typeof stored === 'string' || (name === undefined && this.#foreign === undefined)) {
      const wrong =
        typeof stored === 'string' ? `the value of ${event.key} has ${stored}` : `${event.key} names no object`;
      this.problem(`${at.source.file}:${at.source.line}: ${wrong}`);
      return undefined;
    }
    if (name === undefined) return undefined;
    const key = this.#foreign === undefined ? event.key : keyOf(name);
    const before = this.objects.get(key);
    const place = { ...name, key, ...at };
    const versionAt = (index: number) => at.revision * this.versionsPerRevision + index;
    if (stored === undefined) {
      const index = (lastIndex.get(name.resource) ?? -1) + 1;
      lastIndex.set(name.resource, index);
      if (before !== undefined) this.#remove(before);
      const fence = fences.get(event.key);
      return { ...place, resourceVersion: versionAt(index), before, after: undefined, fence };
    }
    lastIndex.set(name.resource, stored.index);
    const after = new Version({ ...place, resourceVersion: versionAt(stored.index) }, stored);
    if (before !== undefined) this.#remove(before);
    this.#insert(after);
    const { resourceVersion, fence } = after;
    return { ...place, resourceVersion, before, after, fence: fence.electionKey === '' ? undefined : fence };
  }

  #insert(version: ObjectVersion): void {
    this.objects.set(version.key, version);
    const siblings = this.byResource.get(version.resource) ?? new Map<string, ObjectVersion>();
    siblings.set(version.key, version);
    this.byResource.set(version.resource, siblings);
    if (FREQUENT.has(version.resource)) return;
    const { uid, ownerReferences = [] } = version.object?.metadata ?? {};
    if (uid !== undefined) this.byUid.set(uid, version);
    for (const owner of ownerReferences) {
      if (owner.uid === undefined) continue;
      const keys = this.dependents.get(owner.uid) ?? new Set();
      keys.add(version.key);
      this.dependents.set(owner.uid, keys);
    }
  }

  #remove(version: ObjectVersion): void {
    this.objects.delete(version.key);
    this.byResource.get(version.resource)?.delete(version.key);
    if (FREQUENT.has(version.resource)) return;
    const { uid, ownerReferences = [] } = version.object?.metadata ?? {};
    if (uid !== undefined) this.byUid.delete(uid);
    for (const owner of ownerReferences) {
      const keys = this.dependents.get(owner.uid ?? '');
      keys?.delete(version.key);
      if (keys?.size === 0) this.dependents.delete(owner.uid ?? '');
    }
  }

  /** Applies a line of an engine. Returns the containers that changed. */
  applyEngine(host: string, line: EngineLine, source: Source): readonly ContainerChange[] {
    if (!('snapshot' in line)) {
      const change = this.#applyContainerEvent(host, line, source);
      return change === undefined ? [] : [change];
    }
    const listed = new Map(line.snapshot.map((one) => [`${host}/${one.id}`, one]));
    const gone = [...this.containers].filter(([key, { host: on }]) => on === host && !listed.has(key));
    const changes = gone.map(([key, before]) => {
      this.#setContainer(key, before, undefined);
      return { before, after: undefined, action: 'snapshot', atMs: line.atMs, source };
    });
    return [
      ...changes,
      ...[...listed].flatMap(([key, { id, name, labels, state }]) => {
        const before = this.containers.get(key);
        const running = RUNNING.has(state);
        if (before !== undefined && before.running === running && before.name === name) return [];
        const after = { host, id, name, labels, running, atMs: line.atMs, source };
        this.#setContainer(key, before, after);
        return [{ before, after, action: 'snapshot', atMs: line.atMs, source }];
      }),
    ];
  }

  #applyContainerEvent(
    host: string,
    { id, action, labels, name, atMs }: Exclude<EngineLine, { snapshot: unknown }>,
    source: Source,
  ): ContainerChange | undefined {
    const key = `${host}/${id}`;
    const before = this.containers.get(key);
    if (action === 'destroy') {
      this.#setContainer(key, before, undefined);
      return before === undefined ? undefined : { before, after: undefined, action, atMs, source };
    }
    const running = action === 'start' ? true : action === 'die' ? false : (before?.running ?? false);
    const known = { labels: before?.labels ?? labels, name: name ?? before?.name ?? '' };
    const since = before?.running === running ? { atMs: before.atMs, source: before.source } : { atMs, source };
    const after = { host, id, ...known, running, ...since };
    if (before === undefined && action !== 'create' && action !== 'start') return undefined;
    this.#setContainer(key, before, after);
    return { before, after, action, atMs, source };
  }

  #setContainer(key: string, before: ContainerState | undefined, after: ContainerState | undefined): void {
    if (after === undefined) this.containers.delete(key);
    else this.containers.set(key, after);
    const uid = (after ?? before)?.labels[POD_UID];
    if (uid === undefined) return;
    const siblings = this.#containersOfPods.get(uid) ?? new Map<string, ContainerState>();
    if (after === undefined) siblings.delete(key);
    else siblings.set(key, after);
    if (siblings.size === 0) this.#containersOfPods.delete(uid);
    else this.#containersOfPods.set(uid, siblings);
  }

  /** The containers of a pod, over all engines. */
  containersOf(uid: string): Iterable<ContainerState> {
    return this.#containersOfPods.get(uid)?.values() ?? [];
  }

  /** Applies a line of faults.jsonl. */
  applyFault(line: FaultLine): void {
    if (line.phase === 'healthy') this.faults.delete(line.id);
    else this.faults.set(line.id, { ...this.faults.get(line.id), ...line });
    this.calmSinceMs = this.faults.size === 0 ? (this.calmSinceMs ?? line.atMs) : undefined;
  }
}

/** Written all the time, and neither owned nor owning: their JSON is parsed only for who reads it. */
export const FREQUENT: ReadonlySet<string> = new Set(['coordination.k8s.io/leases', 'events', 'events.k8s.io/events']);

/** The key of an object in etcd. */
export function keyOf({ resource, namespace, name }: ObjectName): string {
  return `${REGISTRY}${resource}/${namespace === '' ? '' : `${namespace}/`}${name}`;
}

function deletionFence(value: string): Fence | undefined {
  try {
    const { electionKey, epoch, incarnation } = JSON.parse(Buffer.from(value, 'base64').toString()) as Partial<Fence>;
    return { electionKey: electionKey ?? '', epoch: epoch ?? 0, incarnation: incarnation ?? '' };
  } catch {
    return undefined;
  }
}

class Version implements ObjectVersion {
  readonly key: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  readonly resourceVersion: number;
  readonly atMs: number;
  readonly source: Source;
  readonly fence: Fence;
  readonly writer: string;
  #json: string | undefined;
  #object: ApiObject | undefined;

  constructor(
    place: ObjectName & Pick<ObjectVersion, 'key' | 'revision' | 'resourceVersion' | 'atMs' | 'source'>,
    stored: StoredValue,
  ) {
    this.key = place.key;
    this.resource = place.resource;
    this.namespace = place.namespace;
    this.name = place.name;
    this.revision = place.revision;
    this.atMs = place.atMs;
    this.source = place.source;
    this.resourceVersion = place.resourceVersion;
    const { electionKey, epoch, incarnation } = stored;
    this.fence = electionKey === '' ? NO_FENCE : { electionKey, epoch, incarnation };
    this.writer = stored.writer;
    this.#json = stored.json;
  }

  get object(): ApiObject | undefined {
    if (this.#json !== undefined) {
      this.#object = parse(this.#json);
      this.#json = undefined;
    }
    return this.#object;
  }
}

function parse(json: string): ApiObject | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** An object's name from `<namespace>/<name>` or `<name>`. */
export function parseResource(resource: string, key: string): ObjectName {
  const slash = key.indexOf('/');
  return { resource, namespace: slash < 0 ? '' : key.slice(0, slash), name: key.slice(slash + 1) };
}
