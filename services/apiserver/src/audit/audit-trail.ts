import { type Clock, formatMicroTime, type Instant, type NewUid } from '@gantry/base';
import type { ObjectMeta, Status } from '@gantry/objects';
import { type User, userInfo } from '../auth/user.ts';
import {
  type AuditDecision,
  type AuditedRequest,
  type AuditPolicy,
  concernsReads,
  decideLevel,
  type Level,
  LEVELS,
  type Stage,
} from './policy.ts';
import { parsePlainBody } from '@gantry/apimachinery';

/** Collects data of a request for the audit log while it is served. */
export interface RequestAudit {
  /**
   * Adds an annotation to the events of the request. With the level 'Request', only if the policy logs at least that level. The first
   * value of a key stays.
   */
  annotate(key: string, value: string, level?: 'Metadata' | 'Request'): void;
  /** Records an authorisation decision. The last one stays, so that a denial replaces an earlier allow. */
  decided(decision: 'allow' | 'forbid', reason: string): void;
  /** Records the object that the request writes, since the path of a create has no name. */
  describe(metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'resourceVersion'>): void;
}

/** For the apiserver's own operations: control loops, and internal parts of requests that are logged themselves. */
export const NOT_AUDITED: RequestAudit = {
  annotate: () => undefined,
  decided: () => undefined,
  describe: () => undefined,
};

/** The data of a request before it is served. */
export interface ReceivedRequest {
  readonly request: AuditedRequest;
  readonly auditId: string;
  readonly requestUri: string;
  /** The authenticated user. */
  readonly user: User;
  /** The impersonated user, if any. */
  readonly impersonated: User | undefined;
  readonly sourceIps: readonly string[];
  readonly userAgent: string;
  readonly receivedAt: Instant;
}

/** One request, whose events are logged if the policy says so. */
export interface AuditedExchange extends RequestAudit {
  /** Keeps the request body if the policy logs it. */
  sent(mediaType: string, bytes: Uint8Array): void;
  /** Keeps the response body if the policy logs it; only its size if it is too large. */
  returned(mediaType: string, body: Uint8Array | { readonly size: number }): void;
  /** The maximum size in bytes of a kept response body; 0 if the policy logs none. */
  readonly keptBytes: number;
  /** A long-running response, such as a watch or a followed log, has started. */
  started(code: number): void;
  /** The response is complete; `status` says why the request failed. */
  completed(code: number, status?: Status): void;
}

/** Decides which requests are logged, and writes their events. */
export interface AuditTrail {
  readonly newId: NewUid;
  /** Whether the policy may log read requests. If not, callers need not call `begin` for them. */
  readonly concernsReads: boolean;
  begin(received: ReceivedRequest): AuditedExchange;
}

/** A request that is not logged. */
export const UNLOGGED: AuditedExchange = {
  ...NOT_AUDITED,
  sent: () => undefined,
  returned: () => undefined,
  keptBytes: 0,
  started: () => undefined,
  completed: () => undefined,
};

/** Larger bodies are not logged. An annotation of the event reports their size. */
const MAX_BODY = 1024 * 1024;
const TOO_LARGE = 'audit.gantry.dev/omitted';

/** Creates an audit trail. It passes each event to `append` as one line of JSON, an `audit.k8s.io/v1` Event. */
export function createAuditTrail(options: {
  readonly policy: AuditPolicy;
  readonly clock: Clock;
  readonly newUid: NewUid;
  readonly append: (line: string) => void;
  readonly decodeProtobuf: BodyDecoder;
}): AuditTrail {
  const { policy, newUid } = options;
  return {
    newId: newUid,
    concernsReads: concernsReads(policy),
    begin: (received) => {
      const decision = decideLevel(policy, received.impersonated ?? received.user, received.request);
      return decision.level === 'None' ? UNLOGGED : new LoggedExchange(received, decision, options);
    },
  };
}

class LoggedExchange implements AuditedExchange {
  readonly #received: ReceivedRequest;
  readonly #decision: AuditDecision;
  readonly #options: Parameters<typeof createAuditTrail>[0];
  readonly #annotations = new Map<string, string>();
  #object: Parameters<RequestAudit['describe']>[0] = {};
  #requestObject: unknown;
  /** The response body as JSON on one line. */
  #responseObject: string | undefined;
  #isCompleted = false;

  constructor(received: ReceivedRequest, decision: AuditDecision, options: Parameters<typeof createAuditTrail>[0]) {
    this.#received = received;
    this.#decision = decision;
    this.#options = options;
    this.#log('RequestReceived', undefined);
  }

  annotate(key: string, value: string, level: 'Metadata' | 'Request' = 'Metadata'): void {
    if (this.#reaches(level) && !this.#annotations.has(key)) this.#annotations.set(key, value);
  }

  decided(decision: 'allow' | 'forbid', reason: string): void {
    this.#annotations.set('authorization.k8s.io/decision', decision);
    this.#annotations.set('authorization.k8s.io/reason', reason);
  }

  describe(metadata: Parameters<RequestAudit['describe']>[0]): void {
    this.#object = metadata;
  }

  sent(mediaType: string, bytes: Uint8Array): void {
    if (this.#reaches('Request')) this.#requestObject = this.#decode('request', mediaType, bytes);
  }

  returned(mediaType: string, body: Uint8Array | { readonly size: number }): void {
    if (!this.#reaches('RequestResponse')) return;
    if ('size' in body) {
      this.#omit('response', body.size);
      return;
    }
    const sent = this.#decision.omitManagedFields || body.length > MAX_BODY ? undefined : jsonLine(mediaType, body);
    if (sent !== undefined) {
      this.#responseObject = sent;
      return;
    }
    const object = this.#decode('response', mediaType, body);
    if (object !== undefined) this.#responseObject = JSON.stringify(object);
    // Nothing else reports a response that cannot be decoded: unlike a request with an undecodable body, this request does not fail.
    else if (body.length > 0) this.#omit('response', body.length);
  }

  get keptBytes(): number {
    return this.#reaches('RequestResponse') ? MAX_BODY : 0;
  }

  started(code: number): void {
    this.#log('ResponseStarted', { metadata: {}, code });
  }

  completed(code: number, status?: Status): void {
    if (this.#isCompleted) return;
    this.#isCompleted = true;
    const { kind: _kind, apiVersion: _apiVersion, ...failure } = status ?? {};
    this.#log('ResponseComplete', { metadata: {}, ...failure, code });
  }

  #reaches(level: Level): boolean {
    return LEVELS.indexOf(this.#decision.level) >= LEVELS.indexOf(level);
  }

  #decode(what: 'request' | 'response', mediaType: string, bytes: Uint8Array): unknown {
    if (bytes.length > MAX_BODY) {
      this.#omit(what, bytes.length);
      return undefined;
    }
    const object = decodeAuditedBody(mediaType, bytes, this.#options.decodeProtobuf);
    return this.#decision.omitManagedFields ? withoutManagedFields(object) : object;
  }

  #omit(what: 'request' | 'response', bytes: number): void {
    this.annotate(TOO_LARGE, `${what}: ${bytes} bytes`);
  }

  #log(stage: Stage, responseStatus: object | undefined): void {
    const { level, omitStages } = this.#decision;
    if (omitStages.has(stage)) return;
    const { auditId, requestUri, request, user, impersonated, sourceIps, userAgent, receivedAt } = this.#received;
    const event = {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level,
      auditID: auditId,
      stage,
      requestURI: requestUri,
      verb: request.verb,
      user: userInfo(user),
      ...(impersonated === undefined ? {} : { impersonatedUser: userInfo(impersonated) }),
      ...(sourceIps.length === 0 ? {} : { sourceIPs: sourceIps }),
      userAgent: userAgent || undefined,
      ...(request.kind === 'resource' ? { objectRef: objectRef(request, this.#object) } : {}),
      responseStatus,
      requestObject: this.#requestObject,
      requestReceivedTimestamp: formatMicroTime(receivedAt),
      stageTimestamp: formatMicroTime(this.#options.clock.now()),
      ...(this.#annotations.size === 0 ? {} : { annotations: Object.fromEntries(this.#annotations) }),
    };
    const line = JSON.stringify(event);
    const response = this.#responseObject;
    this.#options.append(response === undefined ? line : `${line.slice(0, -1)},"responseObject":${response}}`);
  }
}

/** A JSON body as it was sent, without decoding it. Undefined for other media types and for JSON with line breaks. */
function jsonLine(mediaType: string, bytes: Uint8Array): string | undefined {
  if (bytes.length === 0 || !mediaType.startsWith('application/json')) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8').trimEnd();
  return text.includes('\n') ? undefined : text;
}

/** The fields of the path, completed by those of the object. Empty fields are omitted, as in Kubernetes. */
function objectRef(
  request: Extract<AuditedRequest, { kind: 'resource' }>,
  object: Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'resourceVersion'>,
): Readonly<Record<string, string>> {
  const { resource, namespace, name, group, version, subresource } = request;
  const all = {
    resource,
    namespace: namespace === '' ? (object.namespace ?? '') : namespace,
    name: name === '' ? (object.name ?? '') : name,
    uid: object.uid ?? '',
    apiGroup: group,
    apiVersion: version,
    resourceVersion: object.resourceVersion ?? '',
    subresource,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}

/** A copy of an object or of a list of objects without `metadata.managedFields`. */
function withoutManagedFields(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  const { metadata, items, ...rest } = value as Readonly<Record<string, unknown>>;
  const shown = { ...(metadata as Readonly<Record<string, unknown>> | undefined), managedFields: undefined };
  return {
    ...rest,
    ...(metadata === undefined ? {} : { metadata: shown }),
    ...(items === undefined ? {} : { items: Array.isArray(items) ? items.map(withoutManagedFields) : items }),
  };
}

/** Decodes a protobuf body. The envelope of the body names its type. */
type BodyDecoder = (bytes: Uint8Array) => unknown;

/**
 * Decodes a body for the audit log, by its media type. Returns undefined for a body that cannot be decoded: the request fails then, and
 * the logged status gives the reason.
 */
function decodeAuditedBody(mediaType: string, bytes: Uint8Array, decodeProtobuf: BodyDecoder): unknown {
  if (bytes.length === 0) return undefined;
  try {
    if (mediaType.includes('protobuf')) return decodeProtobuf(bytes);
    return parsePlainBody(bytes, mediaType.includes('yaml') ? 'yaml' : 'json');
  } catch {
    // The decoder of the request reports the error to the client.
    return undefined;
  }
}
