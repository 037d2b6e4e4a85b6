import type { KubeObject, ObjectKey, ResourceRef, Status } from '@gantry/api';

/** Which leader asks; see proto/gantry/v1/object.proto. Given by the election to whoever writes. */
export interface Fence {
  readonly electionKey: string;
  readonly epoch: number;
  readonly incarnation: string;
  /** Revision that the caller's caches have reached. */
  readonly cacheRevision: number;
}

export interface ListOptions {
  /** '' or absent for all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** '' linearizable, '0' whatever is there, otherwise not older than. */
  readonly resourceVersion?: string;
  readonly limit?: number;
  readonly continueToken?: string;
  /** Of each object the metadata alone, perhaps without managedFields. What `apiVersion` and `kind` say is then up to the server. */
  readonly metadataOnly?: boolean;
}

export interface ObjectList<T extends KubeObject = KubeObject> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  readonly continueToken: string;
}

/** Elements of a watch. It ends by an error (StatusError Expired means: list again), never silently. */
export type WatchEvent<T extends KubeObject = KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Everything up to this version has been delivered; `initialEventsEnd` on the one that ends the initial events. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean };

export interface WatchOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly sendInitialEvents?: boolean;
  /** As for lists. */
  readonly metadataOnly?: boolean;
}

export type PatchType =
  | 'application/json-patch+json'
  | 'application/merge-patch+json'
  | 'application/strategic-merge-patch+json'
  /** Server-side apply; what others own is taken from them. */
  | 'application/apply-patch+yaml';

/** One write of a batch, and what the single calls are made of. */
export type ObjectWrite =
  | {
      readonly verb: 'create';
      readonly resource: ResourceRef;
      readonly namespace: string;
      readonly object: KubeObject;
      readonly name?: string;
      readonly subresource?: string;
    }
  | {
      readonly verb: 'update';
      readonly resource: ResourceRef;
      readonly key: ObjectKey;
      readonly object: KubeObject;
      readonly subresource?: string;
    }
  | {
      readonly verb: 'patch';
      readonly resource: ResourceRef;
      readonly key: ObjectKey;
      readonly patch: unknown;
      readonly patchType: PatchType;
      /** Who is recorded to own what this write sets; the client's own field manager when absent. */
      readonly fieldManager?: string;
      readonly subresource?: string;
    }
  | {
      readonly verb: 'delete';
      readonly resource: ResourceRef;
      readonly key: ObjectKey;
      readonly options?: DeleteOptions;
    };

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export type WriteResult<T extends KubeObject = KubeObject> =
  | { readonly ok: true; readonly object: T }
  | { readonly ok: false; readonly status: Status };

/** Reads objects. Fails with StatusError. Safe to retry; the transports do so on lost connections. */
export interface ObjectReader {
  get<T extends KubeObject>(resource: ResourceRef, key: ObjectKey, signal: AbortSignal): Promise<T>;
  list<T extends KubeObject>(resource: ResourceRef, options: ListOptions, signal: AbortSignal): Promise<ObjectList<T>>;
  /** Events of one server batch come as one array, in order. */
  watch<T extends KubeObject>(
    resource: ResourceRef,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent<T>[]>;
}

/** Writes objects. Fails with StatusError; a lost connection after sending is StatusError 'Timeout', outcome unknown, and never retried here. */
export interface ObjectWriter {
  write<T extends KubeObject>(write: ObjectWrite, signal: AbortSignal): Promise<T>;
  /** Many guarded writes in one call, each with its own result, in order. */
  batch(writes: readonly ObjectWrite[], signal: AbortSignal): Promise<readonly WriteResult[]>;
}

export interface ObjectClient extends ObjectReader, ObjectWriter {}
