import type { ResourceDefinition, SubresourceDefinition, Verb } from '@gantry/apimachinery';
import type { FieldError, KubeObject } from '@gantry/objects';
import type { RequestAudit } from '../../audit/audit-trail.ts';
import type { User } from '../../auth/user.ts';
import type { ObjectResponse, WatchItem } from '../../cache/object-response.ts';
import type { Fence, ResourceVersion } from '../../storage/object-store.ts';

/** A request that writes, before its body is read. */
export interface WriteRequest {
  readonly context: RequestContext;
  readonly target: Target;
  readonly options: WriteOptions;
  /** The definition of the subresource that `target.subresource` names; undefined for the object itself. */
  readonly subresource: SubresourceDefinition | undefined;
}

/** What REST and gRPC know of a request. */
export interface RequestContext {
  readonly user: User;
  /** Aborted when the client has gone or the deadline has passed. */
  readonly signal: AbortSignal;
  readonly fence: (Fence & { readonly cacheRevision: number }) | undefined;
  /** Adds a text for a `Warning: 299` header. */
  readonly warn: (text: string) => void;
  /** What the audit log is to say of the request. */
  readonly audit: RequestAudit;
}

/** The context of a request that came over HTTP; `signal` ends it, unless told the request's own. */
export function requestContext(
  exchange: Pick<RequestContext, 'user' | 'signal' | 'audit'> & { readonly warnings: Set<string> },
  signal: AbortSignal = exchange.signal,
): RequestContext {
  const { user, audit, warnings } = exchange;
  return { user, signal, fence: undefined, warn: (text) => warnings.add(text), audit };
}

/** Options of writes, validated by the endpoint that parsed them. */
export interface WriteOptions {
  readonly dryRun: boolean;
  /** `fieldManager`, or what stands before the first '/' of the User-Agent; at most 128 characters. */
  readonly fieldManager: string;
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore';
  /** The last two as the client sent them, for admission; absent when the defaults count as sent. */
  readonly sent?: { readonly fieldManager?: string; readonly fieldValidation?: string };
  /** Whether an apply takes over fields of other managers. */
  readonly force?: boolean;
}

/** The write options of a deletion, of which only the dry run matters. */
export const NO_WRITE_OPTIONS: WriteOptions = { dryRun: false, fieldManager: '', fieldValidation: 'Ignore' };

/** A request body that has not been read. The registry reads it once, after authorisation, and decodes it: strict, warning or ignoring. */
export interface Body {
  readonly mediaType: 'application/json' | 'application/yaml' | 'application/vnd.kubernetes.protobuf';
  readonly read: () => Promise<Uint8Array>;
  /** Waits between the steps of decoding a large body; the next round of the event loop when absent. */
  readonly nextTurn?: () => Promise<void>;
}

/** A body of the apiserver's own. */
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

/** The options of a deletion, which come in its body or its query, and have not been read. */
export interface DeleteBody {
  readonly read: () => Promise<{ readonly options: DeleteOptions; readonly dryRun: boolean }>;
}

/** A list as a client asks for it. Nothing of it is checked: selectors and versions may be invalid. */
export interface ListRequest {
  /** '' for all namespaces or cluster scope. */
  readonly namespace: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan';
  readonly limit: number;
  readonly continueToken: string;
  /** Contradictions in the request: reported after authorisation, if the selectors are valid. */
  readonly faults?: readonly FieldError[];
}

/** A list of all objects in their present state. */
export const EVERYTHING: ListRequest = {
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  resourceVersion: '',
  resourceVersionMatch: '',
  limit: 0,
  continueToken: '',
};

/** One page, and how many objects are left where that is known. */
export interface ListResponse {
  readonly items: readonly ObjectResponse[];
  readonly resourceVersion: ResourceVersion;
  readonly continueToken: string;
  readonly remainingItemCount: number | undefined;
}

/** A watch as a client asks for it. Nothing of it is checked. */
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

/** DeleteOptions of metav1, decoded and checked. */
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

/** Options of a deletion of the apiserver's own. */
export function deleteBody(options: DeleteOptions): DeleteBody {
  return { read: () => Promise.resolve({ options, dryRun: false }) };
}

/** What a request is about: a resource, one object of it when `name` is not empty, or a part of that object. */
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
  /** Resolves when the watch is open (bad selectors and versions reject before); items of one moment come as one array. */
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
  /** `gone`: the object was removed, and the response is its last state. Else finalizers or a grace period keep it. */
  delete(
    context: RequestContext,
    target: Target,
    body: DeleteBody,
  ): Promise<{ response: ObjectResponse; gone: boolean }>;
  /** Returns the list as it was before. With a limit, only the objects of that page are deleted. */
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
   * Authorises and admits a stream with its `options` (PodAttachOptions and the like), whether or not the object exists. Streams to
   * containers need the right to `create` them, whatever the verb. `target.name` of a proxy may name a port as well.
   */
  connect(context: RequestContext, target: Target, verb: Verb | '', options: KubeObject): Promise<void>;
}

/**
 * The generic registry: the one way to objects for REST and gRPC. `writing/pipeline.ts` holds the order of every write. Fails with
 * StatusError only.
 */
export interface Registry extends RegistryReader, RegistryWriter, RegistryStreams {}
