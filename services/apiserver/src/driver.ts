import type { FieldError, JsonObject, KubeObject, ResourceDefinition, Verb } from '@gantry/api';
import type { Fence, ResourceVersion } from './storage/object-store.ts';

/** Who asks, as authentication found out. */
export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** What both doors (REST and gRPC) know of a request. */
export interface RequestContext {
  readonly user: User;
  /** Aborted when the client has gone or the deadline has passed. */
  readonly signal: AbortSignal;
  readonly fence: (Fence & { readonly cacheRevision: number }) | undefined;
  /** Adds a text for a `Warning: 299` header. */
  readonly warn: (text: string) => void;
}

/** Options of writes, validated by the door that parsed them. */
export interface WriteOptions {
  readonly dryRun: boolean;
  /** `fieldManager`, or what stands before the first '/' of the User-Agent; at most 128 characters. */
  readonly fieldManager: string;
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore';
  /** Of the last two, what the client said itself, which is what admission is told; both when absent. */
  readonly sent?: { readonly fieldManager?: string; readonly fieldValidation?: string };
  /** Whether an apply takes fields of others. */
  readonly force?: boolean;
}

/** A request body as it came. The driver decodes it: strict, warning or ignoring. */
export interface Body {
  readonly bytes: Uint8Array;
  readonly mediaType: 'application/json' | 'application/yaml' | 'application/vnd.kubernetes.protobuf';
}

/** What an answer is made of: the object, shared and frozen by convention, and the bytes made from it so far. */
export interface Answer {
  readonly object: KubeObject;
  /** JSON bytes, made once per revision and shared. They begin with `{"kind":…,"apiVersion":…,` in this order. */
  json(): Uint8Array;
  /** `application/vnd.kubernetes.protobuf` bytes, envelope included, made once per revision and shared. */
  protobuf(): Uint8Array;
  /** Any other bytes that many may share, made once by `make` and known by their name. */
  form(name: string, make: () => Uint8Array): Uint8Array;
}

export interface ListRequest {
  /** '' for all namespaces or cluster scope. */
  readonly namespace: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan';
  readonly limit: number;
  readonly continueToken: string;
  /** What contradicts in the request: refused once it is clear that its sender may list, and that the selectors are some. */
  readonly faults?: readonly FieldError[];
}

/** A list of all there is, as it is now. */
export const EVERYTHING: ListRequest = {
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  resourceVersion: '',
  resourceVersionMatch: '',
  limit: 0,
  continueToken: '',
};

export interface ListAnswer {
  readonly items: readonly Answer[];
  readonly resourceVersion: ResourceVersion;
  readonly continueToken: string;
  readonly remainingItemCount: number | undefined;
}

export interface WatchRequest {
  readonly namespace: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan';
  readonly sendInitialEvents: boolean | undefined;
  readonly allowBookmarks: boolean;
  readonly faults?: readonly FieldError[];
}

export type WatchItem =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly answer: Answer }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: ResourceVersion; readonly initialEventsEnd: boolean };

/** DeleteOptions of metav1, decoded and checked. */
export interface DeleteOptions {
  readonly gracePeriodSeconds: number | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy: 'Orphan' | 'Background' | 'Foreground' | undefined;
  readonly orphanDependents: boolean | undefined;
}

/** A deletion as the kind has it, of whatever object has the name. */
export const DELETE_AS_USUAL: DeleteOptions = {
  gracePeriodSeconds: undefined,
  preconditions: {},
  propagationPolicy: undefined,
  orphanDependents: undefined,
};

export interface Target {
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  readonly name: string;
  /** '' for the object itself. */
  readonly subresource: string;
}

/** What rights are asked for. Its resource need not be one that is served: reviews ask about any. */
export interface AskedTarget {
  readonly definition: Pick<ResourceDefinition, 'group' | 'resource'>;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

/**
 * The generic driver: the one way to objects for both doors. Its order is fixed: (authenticated by the door) authorise, decode,
 * default, admit (mutate), prepare, validate, admit (validate), store, answer. Fails with StatusError only.
 */
export interface Driver {
  get(context: RequestContext, target: Target, resourceVersion: string): Promise<Answer>;
  list(context: RequestContext, definition: ResourceDefinition, request: ListRequest): Promise<ListAnswer>;
  /** Resolves when the watch is open (bad selectors and versions reject before); items of one moment come as one array. */
  watch(
    context: RequestContext,
    definition: ResourceDefinition,
    request: WatchRequest,
  ): Promise<AsyncIterable<readonly WatchItem[]>>;
  create(context: RequestContext, target: Target, body: Body, options: WriteOptions): Promise<Answer>;
  update(
    context: RequestContext,
    target: Target,
    body: Body,
    options: WriteOptions,
  ): Promise<{ answer: Answer; created: boolean }>;
  patch(
    context: RequestContext,
    target: Target,
    patch: Uint8Array,
    patchType: string,
    options: WriteOptions,
  ): Promise<{ answer: Answer; created: boolean }>;
  /** The object as it was deleted or, when finalizers or a grace period keep it, as it is now. `gone` tells which. */
  delete(
    context: RequestContext,
    target: Target,
    options: DeleteOptions,
    write: WriteOptions,
  ): Promise<{ answer: Answer; gone: boolean }>;
  /**
   * Authorises and admits a stream to what an object stands for, which `options` (PodAttachOptions and the like) says more of.
   * Streams to containers do not exist yet: all but proxies are refused. `target.name` may name a port as well.
   */
  connect(context: RequestContext, target: Target, verb: Verb | '', options: KubeObject): Promise<void>;
  /** The list as it was before; with a limit only what is on that page is deleted. */
  deleteCollection(
    context: RequestContext,
    definition: ResourceDefinition,
    list: ListRequest,
    options: DeleteOptions,
    write: WriteOptions,
  ): Promise<ListAnswer>;
}

/** Decides who may do what. */
export interface Authorizer {
  /**
   * Throws StatusError Forbidden. `object` is the stored or new object where rules depend on it (an agent's own pods).
   * `fieldSelector` is that of a list, watch or deletecollection: some may list only what it narrows down to.
   */
  authorize(
    user: User,
    verb: Verb | string,
    target: AskedTarget,
    object: JsonObject | undefined,
    fieldSelector?: string,
  ): void;
}
