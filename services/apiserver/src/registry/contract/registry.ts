import type { ResourceDefinition, SubresourceDefinition, Verb } from '@gantry/apimachinery';
import type { FieldError, KubeObject } from '@gantry/objects';
import type { LeaseFence } from '@gantry/client';
import type { RequestAudit } from '../../audit/audit-trail.ts';
import type { User } from '../../auth/user.ts';
import type { ObjectResponse, WatchItem } from '../../cache/object-response.ts';
import type { Fence, ResourceVersion } from '../../storage/object-store.ts';

/** A write request whose body has not been read yet. */
export interface WriteRequest {
  readonly context: RequestContext;
  readonly target: Target;
  readonly options: WriteOptions;
  /** The definition of the subresource that `target.subresource` names; undefined for the object itself. */
  readonly subresource: SubresourceDefinition | undefined;
}

/** The condition under which a leader writes: its term in an election in etcd, or by a Lease. */
export type WriterFence = Fence | LeaseFence;

/** The data of a request that REST and gRPC share. */
export interface RequestContext {
  readonly user: User;
  /** Aborted when the client has gone or the deadline has passed. */
  readonly signal: AbortSignal;
  readonly fence: (Fence & { readonly cacheRevision: number }) | LeaseFence | undefined;
  /** Adds a text for a `Warning: 299` header. */
  readonly warn: (text: string) => void;
  /** `unread`: the client gets no warnings, so those about the content of an object are not looked for. */
  readonly warnings?: 'unread';
  /** Collects data of the request for the audit log. */
  readonly audit: RequestAudit;
}

/** Context of an HTTP request. `signal` aborts the work; it defaults to the signal of the request. Only writes have a fence. */
export function requestContext(
  exchange: Pick<RequestContext, 'user' | 'signal' | 'audit'> & { readonly warnings: Set<string> },
  signal: AbortSignal = exchange.signal,
  fence?: LeaseFence,
): RequestContext {
  const { user, audit, warnings } = exchange;
  return { user, signal, fence, warn: (text) => warnings.add(text), audit };
}

/** Options of writes, validated by the endpoint that parsed them. */
export interface WriteOptions {
  readonly dryRun: boolean;
  /** The parameter `fieldManager`. Without it, the part of the User-Agent before the first '/'. At most 128 characters. */
  readonly fieldManager: string;
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore';
  /** `fieldManager` and `fieldValidation` as the client sent them, for admission. Absent: admission sees the values above. */
  readonly sent?: { readonly fieldManager?: string; readonly fieldValidation?: string };
  /** Whether an apply takes over fields of other field managers. */
  readonly force?: boolean;
}

/** The write options of a delete, which uses only `dryRun`. */
export const NO_WRITE_OPTIONS: WriteOptions = { dryRun: false, fieldManager: '', fieldValidation: 'Ignore' };

/**
 * A request body that has not been read. The registry reads and decodes it once, after authorisation. `fieldValidation` decides whether
 * unknown fields are errors, are warnings, or are ignored.
 */
export interface Body {
  readonly mediaType: 'application/json' | 'application/yaml' | 'application/vnd.kubernetes.protobuf';
  readonly read: () => Promise<Uint8Array>;
  /** Waits between the steps of decoding a large body. When absent, the decoder waits for the next turn of the event loop. */
  readonly nextTurn?: () => Promise<void>;
}

/** A body that the apiserver itself creates. */
export function jsonBody(object: object): Body {
  const bytes = new TextEncoder().encode(JSON.stringify(object));
  return { mediaType: 'application/json', read: () => Promise.resolve(bytes) };
}

/** A patch that has not been read. */
export interface Patch {
  /** Its media type. */
  readonly type: string;
  readonly read: () => Promise<Uint8Array>;
}

/** The options of a deletion, which have not been read. They are in the body or in the query. */
export interface DeleteBody {
  readonly read: () => Promise<{ readonly options: DeleteOptions; readonly dryRun: boolean }>;
}

/** A list request, not validated: selectors and versions may be invalid. */
export interface ListRequest {
  /** '' for all namespaces or cluster scope. */
  readonly namespace: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan';
  readonly limit: number;
  readonly continueToken: string;
  /** Errors of parameters that contradict each other. They are reported after authorisation, if the selectors are valid. */
  readonly faults?: readonly FieldError[];
}

/** Lists all objects in their newest state. */
export const EVERYTHING: ListRequest = {
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  resourceVersion: '',
  resourceVersionMatch: '',
  limit: 0,
  continueToken: '',
};

/** One page of a list. `remainingItemCount` is undefined when it is unknown. */
export interface ListResponse {
  readonly items: readonly ObjectResponse[];
  readonly resourceVersion: ResourceVersion;
  readonly continueToken: string;
  readonly remainingItemCount: number | undefined;
}

/** A watch request, not validated. */
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

/** Decoded and validated DeleteOptions of metav1. */
export interface DeleteOptions {
  readonly gracePeriodSeconds: number | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy: 'Orphan' | 'Background' | 'Foreground' | undefined;
  readonly orphanDependents: boolean | undefined;
}

/** The default deletion of the kind, without preconditions. */
export const DELETE_AS_USUAL: DeleteOptions = {
  gracePeriodSeconds: undefined,
  preconditions: {},
  propagationPolicy: undefined,
  orphanDependents: undefined,
};

/** The options of a deletion that the apiserver itself starts. */
export function deleteBody(options: DeleteOptions): DeleteBody {
  return { read: () => Promise.resolve({ options, dryRun: false }) };
}

/** The target of a request: a resource, one object of it when `name` is not empty, or a subresource of that object. */
export interface Target {
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  readonly name: string;
  /** The name of the subresource; '' for the object itself. */
  readonly subresource: string;
}

/** Gets, lists and watches. Fails with StatusError only. */
export interface RegistryReader {
  get(context: RequestContext, target: Target, resourceVersion: string): Promise<ObjectResponse>;
  list(context: RequestContext, definition: ResourceDefinition, request: ListRequest): Promise<ListResponse>;
  /** Resolves when the watch is open. Invalid selectors and versions reject the promise. Each array has the items that arrived together. */
  watch(
    context: RequestContext,
    definition: ResourceDefinition,
    request: WatchRequest,
  ): Promise<AsyncIterable<readonly WatchItem[]>>;
}

/** Writes. Fails with StatusError only. */
export interface RegistryWriter {
  create(context: RequestContext, target: Target, body: Body, options: WriteOptions): Promise<ObjectResponse>;
  update(
    context: RequestContext,
    target: Target,
    body: Body,
    options: WriteOptions,
  ): Promise<{ response: ObjectResponse; created: boolean }>;
  patch(
    context: RequestContext,
    target: Target,
    patch: Patch,
    options: WriteOptions,
  ): Promise<{ response: ObjectResponse; created: boolean }>;
  /** `gone` is true when the object was removed; the response is then its last state. Else finalizers or a grace period keep it. */
  delete(
    context: RequestContext,
    target: Target,
    body: DeleteBody,
  ): Promise<{ response: ObjectResponse; gone: boolean }>;
  /** Returns the objects as they were before the deletion. With a limit, deletes only the objects of that page. */
  deleteCollection(
    context: RequestContext,
    definition: ResourceDefinition,
    list: ListRequest,
    body: DeleteBody,
  ): Promise<ListResponse>;
}

/** Streams. Fails with StatusError only. */
export interface RegistryStreams {
  /**
   * Authorises and admits a stream with its `options` (such as PodAttachOptions). The object need not exist. Streams to containers
   * need the right `create` for any HTTP method. For a proxy, `target.name` may also contain a port.
   */
  connect(context: RequestContext, target: Target, verb: Verb | '', options: KubeObject): Promise<void>;
}

/**
 * The generic registry. REST and gRPC read and write objects only through it. `writing/pipeline.ts` defines the order of the steps of a
 * write. Fails with StatusError only.
 */
export interface Registry extends RegistryReader, RegistryWriter, RegistryStreams {}
