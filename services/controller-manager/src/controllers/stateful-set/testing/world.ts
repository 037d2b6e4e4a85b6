import { formatTime } from '@gantry/base';
import {
  cloneJson,
  controllerReference,
  type ControllerRevision,
  type KubeObject,
  type PersistentVolumeClaim,
  type Pod,
  type StatefulSet,
  type StatefulSetSpec,
} from '@gantry/objects';
import type { Action, ClaimChanges } from '../actions.ts';
import { ordinalOf, revisionOf } from '../identity.ts';
import { type ObservedStatefulSet, planStatefulSet } from '../plan.ts';
import { NOW, setState, statefulSet } from './objects.ts';

/** All objects at one moment; immutable. */
interface Snapshot {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  readonly revisions: readonly ControllerRevision[];
  readonly claims: readonly PersistentVolumeClaim[];
}

/** A store with one set, its controller and a kubelet. Writes have the store's preconditions: names, uids, versions. */
export class World {
  now = NOW;
  /** Names of rejected creations of existing objects, which may only come from outdated views. */
  refused: string[] = [];
  #count = 0;
  #state: Snapshot;
  readonly #past: Snapshot[] = [];

  constructor(spec: Partial<StatefulSetSpec>) {
    this.#state = { set: statefulSet(spec), pods: [], revisions: [], claims: [] };
  }

  get set(): StatefulSet {
    return this.#state.set;
  }

  get pods(): readonly Pod[] {
    return this.#state.pods;
  }

  get claims(): readonly PersistentVolumeClaim[] {
    return this.#state.claims;
  }

  /** The state `age` changes ago. */
  observe(age = 0): ObservedStatefulSet {
    const past = age === 0 ? this.#state : (this.#past.at(-age) ?? this.#state);
    return {
      set: past.set,
      pods: past.pods,
      revisions: past.revisions,
      findClaim: ({ name }) => past.claims.find(({ metadata }) => metadata.name === name),
    };
  }

  plan(age = 0): readonly Action[] {
    return planStatefulSet(this.observe(age), this.now).actions;
  }

  /** One reconcile from a view. It ends at the first rejected write, or after `writes` writes as in a crash. */
  reconcile(age: number, writes: number): void {
    const { set } = this.observe(age);
    for (const action of this.plan(age).slice(0, writes)) if (!this.#perform(action, set)) return;
  }

  /** The user changes the set. */
  change(spec: Partial<StatefulSetSpec>): void {
    const { metadata } = this.set;
    const generation = (metadata.generation ?? 0) + 1;
    this.#put({
      set: this.#next({
        ...this.set,
        metadata: { ...metadata, generation },
        spec: { ...this.set.spec, ...spec } as StatefulSetSpec,
      }),
    });
  }

  /** The kubelet reports the state of a pod, or removes a pod that is being deleted. */
  report(name: string, state: 'running' | 'ready' | 'failed' | 'succeeded'): void {
    const pod = this.pods.find(({ metadata }) => metadata.name === name);
    if (pod === undefined) return;
    if (pod.metadata.deletionTimestamp !== undefined) this.#put({ pods: this.pods.filter((other) => other !== pod) });
    else if (!['Failed', 'Succeeded'].includes(pod.status?.phase ?? '')) {
      const changed = cloneJson(pod);
      setState(changed, state, this.now);
      this.#replacePod(this.#next(changed));
    }
  }

  /** A user deletes a pod. */
  remove(name: string): void {
    const pod = this.pods.find(({ metadata }) => metadata.name === name);
    if (pod !== undefined) this.#markDeleted(pod);
  }

  #perform(action: Action, observed: StatefulSet): boolean {
    switch (action.kind) {
      case 'createRevision':
        if (this.#state.revisions.some(({ metadata }) => metadata.name === action.revision.metadata.name)) return true;
        this.#put({ revisions: [...this.#state.revisions, this.#next(action.revision)] });
        return true;
      case 'renumberRevision': {
        const renumbered = this.#next({ ...action.revision, revision: action.number });
        if (!this.#state.revisions.includes(action.revision)) return false;
        this.#put({ revisions: this.#state.revisions.map((one) => (one === action.revision ? renumbered : one)) });
        return true;
      }
      case 'deleteRevision':
        this.#put({
          revisions: this.#state.revisions.filter(({ metadata }) => metadata.uid !== action.revision.metadata.uid),
        });
        return true;
      case 'createPod':
        return this.#changeClaims(action.claims) && this.#create(action.pod);
      case 'repairPod':
      case 'changeClaims':
        return this.#changeClaims(action.claims);
      case 'deletePod': {
        const pod = this.pods.find(({ metadata }) => metadata.uid === action.pod.metadata.uid);
        if (pod !== undefined) this.#markDeleted(pod);
        return true;
      }
      case 'updateStatus':
        if (this.set.metadata.resourceVersion !== observed.metadata.resourceVersion) return false;
        this.#put({ set: this.#next({ ...this.set, status: action.status }) });
        return true;
      default:
        return false;
    }
  }

  #create(pod: Pod): boolean {
    const { name = '' } = pod.metadata;
    if (this.pods.some(({ metadata }) => metadata.name === name)) {
      this.refused = [...this.refused, name];
      return false;
    }
    this.#put({ pods: [...this.pods, this.#next({ ...pod, status: { phase: 'Pending' } })] });
    return true;
  }

  #changeClaims({ create, owners }: ClaimChanges): boolean {
    for (const claim of create) {
      if (this.claims.some(({ metadata }) => metadata.name === claim.metadata.name)) return false;
      this.#put({ claims: [...this.claims, this.#next(claim)] });
    }
    for (const { claim, owners: ownerReferences } of owners) {
      if (!this.claims.includes(claim)) return false;
      const changed = this.#next({ ...claim, metadata: { ...claim.metadata, ownerReferences: [...ownerReferences] } });
      this.#put({ claims: this.claims.map((one) => (one === claim ? changed : one)) });
    }
    return true;
  }

  #markDeleted(pod: Pod): void {
    if (pod.metadata.deletionTimestamp !== undefined) return;
    this.#replacePod(this.#next({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: formatTime(this.now) } }));
  }

  #replacePod(pod: Pod): void {
    this.#put({ pods: this.pods.map((other) => (other.metadata.uid === pod.metadata.uid ? pod : other)) });
  }

  #put(change: Partial<Snapshot>): void {
    this.#past.push(this.#state);
    this.#state = { ...this.#state, ...change };
  }

  /** The object as the store returns it. */
  #next<T extends KubeObject>(object: T): T {
    const id = String(++this.#count);
    return { ...object, metadata: { uid: id, ...object.metadata, resourceVersion: id } };
  }
}

/** Pods as texts such as `web-0 new ready`, for messages of failed properties. */
export function describePods(world: World): readonly string[] {
  return world.pods.map((pod) => {
    const { deletionTimestamp, name } = pod.metadata;
    const isOwn = pod.metadata.ownerReferences?.[0]?.uid === controllerReference(world.set).uid;
    return [name, revisionOf(pod), pod.status?.phase, deletionTimestamp && 'terminating', isOwn ? '' : 'free'].join(
      ' ',
    );
  });
}

/** The ordinals of all pods, ascending. */
export function ordinalsOf(world: World): readonly number[] {
  return world.pods.map((pod) => ordinalOf(world.set, pod) ?? -1).sort((a, b) => a - b);
}
