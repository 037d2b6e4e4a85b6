import type { Clock, NewUid } from '@gantry/base';
import type { Status } from '@gantry/objects';
import { type AuditedExchange, type AuditedRequest, type AuditTrail, UNLOGGED } from '../../audit/index.ts';
import type { AuthenticationNotice } from '../../auth/authn/legacy-tokens.ts';
import type { User } from '../../auth/user.ts';
import { type Exchange, header } from '../../http/exchange.ts';
import type { ResourceRoute } from '../request-info.ts';

/** The metrics of the REST endpoint. */
export interface RequestMetrics {
  observe(request: { verb: string; resource: string; code: number; seconds: number }): void;
  /** Counts an open watch until the returned function is called. */
  watching(resource: string): () => void;
}

/** The user in audit events of requests that failed authentication. */
const UNKNOWN_USER: User = { name: '', uid: '', groups: [], extra: {} };

/** Methods with their own label value in metrics, since clients may send any method. */
const METHODS: ReadonlySet<string> = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']);

/** Subresources that may change something with any method, also with GET. */
const STREAMS: ReadonlySet<string> = new Set(['attach', 'exec', 'portforward', 'proxy']);

interface RecordOptions {
  readonly audit: AuditTrail;
  readonly metrics: RequestMetrics;
  readonly clock: Clock;
  readonly newUid: NewUid;
}

/** Records the audit events and the metrics of one request. */
export class RequestRecord {
  /** The authenticated user, as soon as it is known. */
  requester: User = UNKNOWN_USER;
  readonly #options: RecordOptions;
  readonly #auditId: string;
  readonly #receivedAt: number;
  readonly #started: number;
  readonly #notices: AuthenticationNotice[] = [];
  #audit: AuditedExchange | undefined;
  #route: ResourceRoute | undefined;

  constructor(options: RecordOptions) {
    const { clock, newUid } = options;
    this.#options = options;
    this.#auditId = newUid();
    this.#receivedAt = clock.now();
    this.#started = clock.monotonicMs();
  }

  get auditId(): string {
    return this.#auditId;
  }

  /** Keeps a notice about the credentials for the audit log. */
  noticed(notice: AuthenticationNotice): void {
    this.#notices.push(notice);
  }

  /** The audit record of the request. The first call begins it. */
  begin({ req, method }: Exchange, attributes: () => AuditedRequest, user = this.requester): AuditedExchange {
    return (this.#audit ??= this.#begin(req, method, attributes(), user));
  }

  #begin(req: Exchange['req'], method: string, request: AuditedRequest, user: User): AuditedExchange {
    const { audit } = this.#options;
    const isRead = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
    const isStream = request.kind === 'resource' && STREAMS.has(request.subresource);
    if (isRead && !audit.concernsReads && !isStream) return UNLOGGED;
    const begun = audit.begin({
      request,
      auditId: this.#auditId,
      requestUri: req.url ?? '/',
      user: this.requester,
      impersonated: user === this.requester ? undefined : user,
      sourceIps: req.socket.remoteAddress === undefined ? [] : [req.socket.remoteAddress],
      userAgent: header(req, 'user-agent') ?? '',
      receivedAt: this.#receivedAt,
    });
    for (const { annotation } of this.#notices) begun.annotate(...annotation);
    return begun;
  }

  readonly onBody: Exchange['onBody'] = (contentType, body) => this.#audit?.returned(contentType, body);
  readonly keptBytes = (): number => this.#audit?.keptBytes ?? 0;

  /** Sets the route of the request, for metrics. */
  reached(route: ResourceRoute): void {
    this.#route = route;
  }

  /** Closes the record at the end of the request. */
  completed({ method, res }: Exchange, failure: Status | undefined): void {
    const { clock, metrics } = this.#options;
    this.#audit?.completed(res.statusCode, failure);
    const seconds = (clock.monotonicMs() - this.#started) / 1000;
    const verb = verbLabel(this.#route) ?? (METHODS.has(method) ? method : 'OTHER');
    metrics.observe({ verb, resource: resourceLabel(this.#route), code: res.statusCode, seconds });
  }
}

function verbLabel(route: ResourceRoute | undefined): string | undefined {
  if (route === undefined) return undefined;
  if (route.way === 'proxy') return 'connect';
  if (route.way === 'object' || route.verb === undefined) return route.verb;
  return route.way === 'log' ? 'log' : 'connect';
}

function resourceLabel(route: ResourceRoute | undefined): string {
  if (route === undefined) return '';
  const { definition, subresource } = route;
  return subresource === undefined ? definition.resource : `${definition.resource}/${subresource.name}`;
}
