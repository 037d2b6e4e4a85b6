import type { InProcessServer, StoredChange } from '@gantry/apiserver/testing';
import type { Activity } from '@gantry/controller-runtime/testing';
import { ignoreNotFound, ignoreReasons, type ObjectClient } from '@gantry/client';
import { type KubeObject, keyOf, type Resource } from '@gantry/objects';

interface Known {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/**
 * What is in the store. Does what the garbage collector of a cluster does: deletes objects whose owners are all gone, and what an owner that
 * is deleted in the foreground owns; takes references to an owner away whose dependents are to be left.
 */
export class World {
  readonly #server: InProcessServer;
  readonly #activity: Activity;
  readonly #find: (of: StoredChange['resource']) => Resource | undefined;
  readonly #onError: (error: unknown) => void;
  readonly #byName = new Map<string, Known>();
  readonly #uids = new Set<string>();

  /** `onError` is called with the error of a write that the server refuses. */
  constructor(
    server: InProcessServer,
    activity: Activity,
    find: (of: StoredChange['resource']) => Resource | undefined,
    onError: (error: unknown) => void,
  ) {
    this.#server = server;
    this.#activity = activity;
    this.#find = find;
    this.#onError = onError;
  }

  /** The objects of a resource, in the order of their creation. */
  all<T extends KubeObject>({ group, resource }: Resource<T>): readonly T[] {
    const found = [...this.#byName.values()].filter(
      (known) => known.resource.group === group && known.resource.resource === resource,
    );
    return found.map(({ object }) => object as T);
  }

  /** All objects. */
  everything(): readonly Known[] {
    return [...this.#byName.values()];
  }

  take({ resource, name, object }: StoredChange, signal: AbortSignal): void {
    const found = this.#find(resource);
    if (found === undefined) return;
    const id = `${resource.group}/${resource.resource}/${name}`;
    const old = this.#byName.get(id);
    if (object !== undefined) {
      const known = { resource: found, object };
      this.#byName.set(id, known);
      this.#uids.add(object.metadata.uid ?? '');
      this.#collect(known, signal);
      // References may have been taken away from it.
      for (const { uid } of old?.object.metadata.ownerReferences ?? []) this.#collectUid(uid, signal);
      return;
    }
    this.#byName.delete(id);
    this.#uids.delete(old?.object.metadata.uid ?? '');
    for (const known of this.#byName.values()) this.#collect(known, signal);
  }

  #collectUid(uid: string, signal: AbortSignal): void {
    const known = this.everything().find(({ object }) => object.metadata.uid === uid);
    if (known?.object.metadata.deletionTimestamp !== undefined) this.#collect(known, signal);
  }

  #collect({ resource, object }: Known, signal: AbortSignal): void {
    const { ownerReferences = [], deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined) {
      this.#finalise({ resource, object }, signal);
      return;
    }
    const isWanted = ownerReferences.length === 0 || ownerReferences.some((owner) => this.#uids.has(owner.uid));
    if (!isWanted) this.#delete({ resource, object }, signal);
  }

  /** Moves a deletion in the foreground, or one that leaves the dependents, one step on. */
  #finalise(owner: Known, signal: AbortSignal): void {
    const { uid, finalizers = [] } = owner.object.metadata;
    const owners = ({ object }: Known) => object.metadata.ownerReferences ?? [];
    const dependents = this.everything().filter((known) => owners(known).some((one) => one.uid === uid));
    const end = (finalizer: string): void => {
      this.#patch(owner, { finalizers: finalizers.filter((one) => one !== finalizer) }, signal);
    };
    if (finalizers.includes('orphan')) {
      for (const known of dependents) {
        this.#patch(known, { ownerReferences: owners(known).filter((one) => one.uid !== uid) }, signal);
      }
      if (dependents.length === 0) end('orphan');
    } else if (finalizers.includes('foregroundDeletion')) {
      const isBlocking = (known: Known) =>
        owners(known).some((one) => one.uid === uid && one.blockOwnerDeletion === true);
      for (const known of dependents) {
        if (known.object.metadata.deletionTimestamp === undefined) this.#delete(known, signal);
      }
      if (!dependents.some(isBlocking)) end('foregroundDeletion');
    }
  }

  #delete({ resource, object }: Known, signal: AbortSignal): void {
    const { uid } = object.metadata;
    this.#send((client) => client.delete(resource, keyOf(object), { uid }, signal), signal);
  }

  #patch({ resource, object }: Known, change: object, signal: AbortSignal): void {
    const { uid, resourceVersion } = object.metadata;
    const merge = { metadata: { uid, resourceVersion, ...change } };
    this.#send((client) => client.patch(resource, keyOf(object), { merge }, signal), signal);
  }

  /** What has changed meanwhile is looked at again when the change is seen. */
  #send(write: (client: ObjectClient) => Promise<unknown>, signal: AbortSignal): void {
    const client = this.#server.client({ fieldManager: 'garbage-collector' });
    const send = () => ignoreReasons(ignoreNotFound(write(client)), ['Conflict']);
    void this.#activity.of(send).catch((error: unknown) => {
      if (!signal.aborted) this.#onError(error);
    });
  }
}
