import type { Term } from '@gantry/base';
import type { KubeObject, ObjectKey, Resource, Status } from '@gantry/objects';

/** Identifies the leader that writes; see proto/gantry/v1/object.proto. */
export interface Fence extends Term {
  /** The revision that the caller's caches have reached. */
  readonly cacheRevision: number;
}

/**
 * The term of a leader that a Lease elected. The API server stores a write with it only while the Lease still names this term, however late
 * the write arrives.
 */
export interface LeaseFence extends ObjectKey {
  /** That of the Lease: one that was deleted and created again is another one. */
  readonly uid: string;
  readonly holder: string;
  readonly transitions: number;
}

/** What is listed, and how current it must be. Empty: all objects, linearizable. */
export interface ListOptions {
  /** '' or absent for all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** '' linearizable, '0' any version, otherwise not older than this. */
  readonly resourceVersion?: string;
  readonly limit?: number;
  readonly continueToken?: string;
  /** Only the metadata of each object, possibly without managedFields; `apiVersion` and `kind` may be those of PartialObjectMetadata. */
  readonly metadataOnly?: boolean;
}

/** A page of a list. Pass `continueToken` to get the next page; it is '' on the last page. */
export interface ObjectList<T extends KubeObject = KubeObject> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  readonly continueToken: string;
}

/** Events of a watch. A watch ends only with an error. After StatusError Expired, list again. */
export type WatchEvent<T extends KubeObject = KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Everything up to this version has been delivered. `initialEventsEnd` marks the end of the initial events. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean };

/** What is watched, and from which version on. */
export interface WatchOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly sendInitialEvents?: boolean;
  /** As for lists. */
  readonly metadataOnly?: boolean;
}

/** The media types of patches. */
export type PatchType =
  | 'application/json-patch+json'
  | 'application/merge-patch+json'
  | 'application/strategic-merge-patch+json'
  /** Server-side apply with force: takes fields over from other managers. */
  | 'application/apply-patch+yaml';

/** One write in the form that a transport sends; a batch is a list of these. For single writes use the shorter calls of `ObjectWriter`. */
export type ObjectWrite = {
  /** Only while this term lasts. Over HTTP; a server other than Gantry's stores the write in any case. */
  readonly fence?: LeaseFence;
} & (
  | {
      readonly verb: 'create';
      readonly resource: Resource;
      readonly namespace: string;
      readonly object: KubeObject;
      readonly name?: string;
      readonly subresource?: string;
    }
  | {
      readonly verb: 'update';
      readonly resource: Resource;
      readonly key: ObjectKey;
      readonly object: KubeObject;
      readonly subresource?: string;
    }
  | {
      readonly verb: 'patch';
      readonly resource: Resource;
      readonly key: ObjectKey;
      readonly patch: unknown;
      readonly patchType: PatchType;
      /** The field manager to record; the client's own when absent. */
      readonly fieldManager?: string;
      readonly subresource?: string;
    }
  | {
      readonly verb: 'delete';
      readonly resource: Resource;
      readonly key: ObjectKey;
      readonly options?: DeleteOptions;
    }
);

/** How to delete, as Kubernetes' DeleteOptions. Empty: the default of the kind. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** How to delete, and which object and version. Without `uid`, any object with that name is deleted. */
export interface DeleteRequest extends Omit<DeleteOptions, 'preconditions'> {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/**
 * A patch in one of three forms. If it contains `metadata.uid` or `metadata.resourceVersion`, the patch fails with Conflict when the stored
 * object has other values.
 */
export type Patch = (
  | { readonly merge: object }
  | { readonly strategic: object }
  | { readonly json: readonly object[] }
) & {
  /** The subresource that is patched; the object itself when absent. */
  readonly subresource?: string;
};

/** Names a subresource of one object. */
export interface SubresourceKey extends ObjectKey {
  readonly subresource: string;
}

/** Options of server-side apply. */
export interface ApplyOptions {
  /** The client's own field manager when absent. */
  readonly fieldManager?: string;
  readonly subresource?: string;
}

/** The result of one write of a batch. */
export type WriteResult =
  | { readonly ok: true; readonly object: KubeObject }
  | { readonly ok: false; readonly status: Status };

/**
 * Reads objects. Rejects with StatusError. Reads are safe to retry; the transports retry them when a connection is lost.
 *
 * @example
 * ```ts
 * const { items, resourceVersion } = await client.list(PODS, { namespace: 'default' }, signal);
 * for await (const batch of client.watch(PODS, { namespace: 'default', resourceVersion }, signal)) {
 *   for (const event of batch) if (event.type === 'DELETED') forget(event.object);
 * }
 * ```
 */
export interface ObjectReader {
  get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, signal: AbortSignal): Promise<T>;
  list<T extends KubeObject>(resource: Resource<T>, options: ListOptions, signal: AbortSignal): Promise<ObjectList<T>>;
  /** Events that the server sends together are one array, in order. */
  watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent<T>[]>;
}

/**
 * Sends writes. Rejects with StatusError. If the connection is lost after sending, the error is StatusError Timeout: the outcome is
 * unknown. A transport never repeats such a write.
 */
export interface WriteSender {
  write(write: ObjectWrite, signal: AbortSignal): Promise<KubeObject>;
  /** Many writes in one call. Resolves with one result per write, in order. */
  batch(writes: readonly ObjectWrite[], signal: AbortSignal): Promise<readonly WriteResult[]>;
}

/**
 * Writes one object per call. Key and namespace come from the object's metadata. Rejects as `WriteSender` does.
 *
 * @example
 * ```ts
 * const created = await client.create(CONFIG_MAPS, configMap, signal);
 * await client.patch(CONFIG_MAPS, keyOf(created), { merge: { data: { color: 'blue' } } }, signal);
 * await client.delete(CONFIG_MAPS, keyOf(created), { uid: created.metadata.uid }, signal);
 * ```
 */
export interface ObjectWriter {
  create<T extends KubeObject>(resource: Resource<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T>;
  /** Rejects with Conflict if the object has a resourceVersion or uid that differs from the stored one. */
  update<T extends KubeObject>(resource: Resource<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T>;
  /** As `update`, but only for the status. */
  updateStatus<T extends KubeObject>(resource: Resource<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T>;
  patch<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, patch: Patch, signal: AbortSignal): Promise<T>;
  /** Server-side apply with force. */
  apply<T extends KubeObject, C extends KubeObject>(
    resource: Resource<T>,
    configuration: C,
    options: ApplyOptions,
    signal: AbortSignal,
  ): Promise<T>;
  /** Resolves with the deleted object, or with the terminating object if it is not deleted yet. */
  delete(resource: Resource, key: ObjectKey, request: DeleteRequest, signal: AbortSignal): Promise<KubeObject>;
}

/** Writes subresources other than the status. */
export interface SubresourceWriter {
  /** The response has the type of the object that is sent, such as Binding or TokenRequest. */
  createSubresource<S extends KubeObject>(
    resource: Resource,
    key: SubresourceKey,
    object: S,
    signal: AbortSignal,
  ): Promise<S>;
  updateSubresource<T extends KubeObject>(
    resource: Resource<T>,
    subresource: string,
    object: NoInfer<T>,
    signal: AbortSignal,
  ): Promise<T>;
}

/** What a transport implements; `ObjectCalls` adds the rest of an `ObjectClient`. */
export interface ObjectTransport extends ObjectReader, WriteSender {}

/** All operations on objects. `createObjectClient` builds it on a transport. */
export interface ObjectClient extends ObjectTransport, ObjectWriter, SubresourceWriter {}
