import type { Term } from '@gantry/base';
import type { KubeObject, ObjectKey, Resource, Status } from '@gantry/objects';

/** Which leader writes; see proto/gantry/v1/object.proto. */
export interface Fence extends Term {
  /** Revision that the caller's caches have reached. */
  readonly cacheRevision: number;
}

/** What is listed, and how current it must be. Everything, linearizable, when empty. */
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

/** A page of a list. The next one is asked for with `continueToken`; there is none when it is empty. */
export interface ObjectList<T extends KubeObject = KubeObject> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  readonly continueToken: string;
}

/** Elements of a watch. A watch ends only with an error; StatusError Expired means: list again. */
export type WatchEvent<T extends KubeObject = KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Everything up to this version has been delivered; `initialEventsEnd` on the one that ends the initial events. */
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

/** One write as it is sent: what a batch consists of. Single writes have shorter calls, see `ObjectWriter`. */
export type ObjectWrite =
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
      /** Recorded as the manager of the fields; the client's own field manager when absent. */
      readonly fieldManager?: string;
      readonly subresource?: string;
    }
  | {
      readonly verb: 'delete';
      readonly resource: Resource;
      readonly key: ObjectKey;
      readonly options?: DeleteOptions;
    };

/** How to delete, as Kubernetes' DeleteOptions. The kind's own way when empty. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** How to delete, and which version of which object. Without `uid` any object of that name is deleted. */
export interface DeleteRequest extends Omit<DeleteOptions, 'preconditions'> {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** A patch in one of three forms. `metadata.uid` and `metadata.resourceVersion` in it make it conditional. */
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

/** What server-side apply may be told. */
export interface ApplyOptions {
  /** The client's own field manager when absent. */
  readonly fieldManager?: string;
  readonly subresource?: string;
}

/** What became of one write of a batch. */
export type WriteResult =
  | { readonly ok: true; readonly object: KubeObject }
  | { readonly ok: false; readonly status: Status };

/** Reads objects. Fails with StatusError. Safe to retry; the transports do so on lost connections. */
export interface ObjectReader {
  get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, signal: AbortSignal): Promise<T>;
  list<T extends KubeObject>(resource: Resource<T>, options: ListOptions, signal: AbortSignal): Promise<ObjectList<T>>;
  /** Events of one server batch come as one array, in order. */
  watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent<T>[]>;
}

/**
 * Sends writes. Fails with StatusError; a connection lost after sending is StatusError 'Timeout': the outcome is unknown, and
 * the write is never sent again here.
 */
export interface WriteSender {
  write(write: ObjectWrite, signal: AbortSignal): Promise<KubeObject>;
  /** Many writes in one call, each with its own result, in order. */
  batch(writes: readonly ObjectWrite[], signal: AbortSignal): Promise<readonly WriteResult[]>;
}

/** Writes one object each. Key and namespace are those in the object's metadata. Fails as `WriteSender` does. */
export interface ObjectWriter {
  create<T extends KubeObject>(resource: Resource<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T>;
  /** A Conflict where the object has a resourceVersion or uid that is not the stored one. */
  update<T extends KubeObject>(resource: Resource<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T>;
  /** As `update`, of the status alone. */
  updateStatus<T extends KubeObject>(resource: Resource<T>, object: NoInfer<T>, signal: AbortSignal): Promise<T>;
  patch<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, patch: Patch, signal: AbortSignal): Promise<T>;
  /** Server-side apply with force. */
  apply<T extends KubeObject, C extends KubeObject>(
    resource: Resource<T>,
    configuration: C,
    options: ApplyOptions,
    signal: AbortSignal,
  ): Promise<T>;
  /** The object as it was deleted, or as it is while it terminates. */
  delete(resource: Resource, key: ObjectKey, request: DeleteRequest, signal: AbortSignal): Promise<KubeObject>;
}

/** Writes subresources other than the status. */
export interface SubresourceWriter {
  /** The response has the type of what is sent: a Binding, a TokenRequest. */
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

/** All that can be done with objects. `createObjectClient` builds it on a transport. */
export interface ObjectClient extends ObjectTransport, ObjectWriter, SubresourceWriter {}
