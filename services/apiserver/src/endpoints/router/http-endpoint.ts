import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { type Activities, anySignal, type Clock, errorMessage, type NewUid } from '@gantry/base';
import type { ResourceDefinition } from '@gantry/apimachinery';
import { type Status, StatusError } from '@gantry/objects';
import type { Connection, Logger, PeerTrust, TrustedPeer } from '@gantry/service';
import { type Request, type Response, Router } from 'express';
import type { Authenticate, Credentials } from '../../auth/authn/authenticator.ts';
import { ANONYMOUS } from '../../auth/authn/identity.ts';
import { moveWebSocketToken } from '../../auth/authn/websocket-token.ts';
import type { User } from '../../auth/user.ts';
import type { StandingRequests } from '../../auth/authn/standing-requests.ts';
import { type AuditedExchange, type AuditTrail, UNLOGGED } from '../../audit/index.ts';
import type { AggregatedApis } from '../aggregation/aggregated-handler.ts';
import type { AccessDecider, Authorizer, PathAuthorizer } from '../../auth/authz/authorizer.ts';
import type { FlowController } from '../../flow-control/flow-controller.ts';
import { RejectedError, type Seats } from '../../flow-control/priority-level.ts';
import { widthOfList } from '../../flow-control/request-width.ts';
import { flowRequestOf } from './flow-request.ts';
import type { AuthenticationNotice } from '../../auth/authn/legacy-tokens.ts';
import { impersonated } from '../../auth/authn/impersonation.ts';
import { isKubernetesGroup } from '../kubernetes-groups.ts';
import type { LogHandler } from '../logs/log-handler.ts';
import type { ProxyHandler } from '../proxy/proxy-handler.ts';
import type { StreamHandler } from '../streams/stream-handler.ts';
import { auditedRequest } from './audited-request.ts';
import { isLasting, isLog, isStream, isStreamOfPod } from './lasting-request.ts';
import { missingCustom, refuseCustom } from './custom-resource-errors.ts';
import { connectionOf, transportOf } from '../../http/client-connection.ts';
import { type Exchange, header, parseTarget } from '../../http/exchange.ts';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';
import { discardBody } from '../../http/discard-body.ts';
import { requestTimeoutMs } from '../../http/request-timeout.ts';
import { parseBoolean } from '../../http/query.ts';
import { authorizeByPath } from '../request-attributes.ts';
import { parseRoute, type ResourceIndex, type ResourceRoute, type Route, verbOf } from '../request-info.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { ResourceHandler } from '../rest/resource-handler.ts';
import { methodNotAllowed, notFoundResource, PAGE_NOT_FOUND, sendStatus, sendText } from '../../http/respond.ts';

/** Answers paths that are no resources; false when the path is none of its own. */
export type PathHandler = (exchange: Exchange) => Promise<boolean>;

export interface HttpEndpointDependencies {
  readonly authenticate: Authenticate;
  readonly trust: PeerTrust;
  readonly standing: StandingRequests;
  readonly authorizer: Authorizer & PathAuthorizer & AccessDecider;
  readonly resourceRegistry: ResourceIndex;
  /** Waits until the resource registry has heard of everything that was done before now. */
  readonly catchUp: (signal: AbortSignal) => Promise<unknown>;
  readonly resources: ResourceHandler;
  readonly aggregated: AggregatedApis;
  readonly logs: LogHandler;
  readonly proxies: ProxyHandler;
  readonly streams: StreamHandler;
  readonly paths: readonly PathHandler[];
  readonly metrics: RequestMetrics;
  readonly activities: Activities;
  readonly audit: AuditTrail;
  readonly flowControl: FlowController;
  /** How many objects of a resource are stored. */
  readonly stored: (definition: ResourceDefinition) => number;
  readonly clock: Clock;
  readonly newUid: NewUid;
  readonly logger: Logger;
  /** Aborted when the server drains: ends watches and followed logs. */
  readonly stopping: AbortSignal;
}

/** Methods that metrics tell apart: a client may invent others. */
const METHODS: ReadonlySet<string> = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']);

/** The HTTP endpoint: an express router that answers everything, and turns whatever goes wrong into a Status. */
export function createHttpEndpoint(dependencies: HttpEndpointDependencies): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.use((req: Request, res: Response) => {
    serve(dependencies, req, res).catch((error: unknown) => {
      dependencies.logger.error({ err: error, url: req.url }, 'a request was not answered');
      res.destroy();
    });
  });
  return router;
}

/** Why a request was given up. */
class RequestEndedError extends Error {
  override readonly name = 'RequestEndedError';
}

// Made once: a reason with its stack trace for each request would be a good part of what a small request costs.
const CLIENT_GONE = new RequestEndedError('the client has gone');
const OUT_OF_TIME = new RequestEndedError('the time for the request is up');

interface Labels {
  verb: string;
  resource: string;
}

async function serve(dependencies: HttpEndpointDependencies, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { clock, newUid, metrics, activities } = dependencies;
  const started = clock.monotonicMs();
  const labels: Labels = { verb: METHODS.has(req.method ?? '') ? (req.method ?? '') : 'OTHER', resource: '' };
  const gone = new AbortController();
  const left = (): void => {
    if (!res.writableFinished) gone.abort(CLIENT_GONE);
  };
  res.on('error', left);
  res.once('close', left);
  res.setHeader('audit-id', newUid());
  const activity = activities.begin('request', () => `${req.method} ${req.url}`);
  try {
    await route(dependencies, req, res, gone, labels);
  } finally {
    activities.end(activity);
    const seconds = (clock.monotonicMs() - started) / 1000;
    metrics.observe({ verb: labels.verb, resource: labels.resource, code: res.statusCode, seconds });
  }
}

async function route(
  dependencies: HttpEndpointDependencies,
  req: IncomingMessage,
  res: ServerResponse,
  gone: AbortController,
  labels: Labels,
): Promise<void> {
  const { aggregated, authenticate, resourceRegistry, clock, logger, stopping } = dependencies;
  const target = parseTarget(req.url ?? '/');
  const method = req.method ?? 'GET';
  const { path, query } = target ?? { path: '/', query: new URLSearchParams() };
  const receivedAt = clock.now();
  let requester: User = UNKNOWN_USER;
  let audit: AuditedExchange | undefined;
  let failure: Status | undefined;
  const notices: AuthenticationNotice[] = [];
  const onBody: Exchange['onBody'] = (contentType, body) => audit?.returned(contentType, body);
  const keptBytes = (): number => audit?.keptBytes ?? 0;
  let exchange: Exchange = {
    req,
    res,
    method,
    path,
    query,
    signal: gone.signal,
    warnings: new Set(),
    onBody,
    keptBytes,
  };
  let cancel = (): void => undefined;
  let seats: Seats | undefined;
  try {
    if (target === undefined) throw StatusError.badRequest('the path is not decodable');
    const client = clientOf(req, dependencies.trust);
    moveWebSocketToken(req.headers);
    const credentials = credentialsOf(req, client, dependencies.trust);
    requester = await authenticate(credentials, (notice) => {
      notices.push(notice);
      if (notice.warning !== undefined) exchange.warnings.add(notice.warning);
    });
    ownConnection(client, requester);
    const user = impersonated(requester, req.headers, dependencies.authorizer);
    const place = placeOf(dependencies, path, gone.signal);
    const { remote, found } = place instanceof Promise ? await place : place;
    const lasting = remote === undefined ? isLasting(found, method, query) : aggregated.isLasting(exchange);
    if (lasting)
      cancel = dependencies.standing.follow(gone, () => authenticate(credentialsOf(req, client, dependencies.trust)));
    else if (!isLog(found)) cancel = clock.setTimer(requestTimeoutMs(query), () => gone.abort(OUT_OF_TIME));
    using either = lasting ? anySignal(gone.signal, stopping) : undefined;
    const signal = either ?? gone.signal;
    audit = beginAudit(dependencies, exchange, { requester, user, found, receivedAt, notices });
    const begun = (): void => seats?.release();
    const authenticated: AuthenticatedExchange = { ...exchange, user, signal, audit, begun };
    exchange = authenticated;
    const granted = admit(dependencies, authenticated, found, remote === undefined ? 'local' : 'remote');
    seats = granted instanceof Promise ? await granted : granted;
    if (remote !== undefined && lasting) begun();
    if (remote === undefined) await answer(dependencies, authenticated, found, labels);
    else await aggregated.serve(authenticated, remote);
    discardBody(req, clock);
  } catch (error) {
    discardBody(req, clock);
    // Refused before it was known who sent it, or whether the sender may act as another.
    const found = parseRoute(path, resourceRegistry);
    audit ??= beginAudit(dependencies, exchange, { requester, user: requester, found, receivedAt, notices });
    failure = await fail(exchange, error, logger);
  } finally {
    seats?.release();
    cancel();
    audit?.completed(res.statusCode, failure);
  }
}

/** From the first request of a user on, a connection counts as that user's. */
function ownConnection(client: Client, requester: User): void {
  if (client.connection === undefined || requester === ANONYMOUS) return;
  client.connection.belongsTo(requester.name);
  client.connection = undefined;
}

interface Place {
  readonly remote: ReturnType<AggregatedApis['find']>;
  readonly found: Route;
}

/** Which extension server serves a path, or what this server has there. */
function placeOf(
  { aggregated, resourceRegistry, catchUp }: HttpEndpointDependencies,
  path: string,
  signal: AbortSignal,
): Place | Promise<Place> {
  const look = (): Place => ({ remote: aggregated.find(path), found: parseRoute(path, resourceRegistry) });
  const first = look();
  const isMissing = first.remote === undefined && first.found.kind !== 'resource';
  if (!isMissing || !/^\/apis\/[^/.]+\.[^/]+\//.test(path)) return first;
  // Another apiserver may have told the client of it already.
  return catchUp(signal).then(look);
}

/** What audit events name as the user of a request that failed authentication. */
const UNKNOWN_USER: User = { name: '', uid: '', groups: [], extra: {} };

function beginAudit(
  { audit }: HttpEndpointDependencies,
  exchange: Exchange,
  about: {
    readonly requester: User;
    readonly user: User;
    readonly found: Route;
    readonly receivedAt: number;
    /** Of the requester's credentials. */
    readonly notices: readonly AuthenticationNotice[];
  },
): AuditedExchange {
  const { req, res } = exchange;
  const { requester, user, found, receivedAt, notices } = about;
  const isRead = exchange.method === 'GET' || exchange.method === 'HEAD' || exchange.method === 'OPTIONS';
  if (isRead && !audit.concernsReads && !isStream(about.found)) return UNLOGGED;
  const begun = audit.begin({
    request: auditedRequest(exchange, found),
    auditId: String(res.getHeader('audit-id')),
    requestUri: req.url ?? '/',
    user: requester,
    impersonated: user === requester ? undefined : user,
    sourceIps: req.socket.remoteAddress === undefined ? [] : [req.socket.remoteAddress],
    userAgent: header(req, 'user-agent') ?? '',
    receivedAt,
  });
  for (const { annotation } of notices) begun.annotate(...annotation);
  return begun;
}

/** The seats of a request, at once where nothing waits; undefined for one that flow control does not count. */
function admit(
  { flowControl, stored }: HttpEndpointDependencies,
  exchange: AuthenticatedExchange,
  found: Route,
  where: 'remote' | 'local',
): Seats | Promise<Seats> | undefined {
  const { user, query, res, signal } = exchange;
  const request = flowRequestOf(user, exchange, found, where);
  if (request === undefined) return undefined;
  const classified = flowControl.classify(request);
  const { schema, level } = classified;
  if (schema.uid !== '') res.setHeader('x-kubernetes-pf-flowschema-uid', schema.uid);
  if (level.settings.uid !== '') res.setHeader('x-kubernetes-pf-prioritylevel-uid', level.settings.uid);
  let width = 1;
  if (request.verb === 'list' && found.kind === 'resource' && where === 'local') {
    const isFiltered = query.has('labelSelector') || query.has('fieldSelector');
    width = widthOfList(stored(found.definition), Number(query.get('limit') ?? 0), isFiltered);
  }
  return flowControl.admit(classified, request, width, signal);
}

async function answer(
  dependencies: HttpEndpointDependencies,
  exchange: AuthenticatedExchange,
  found: Route,
  labels: Labels,
): Promise<void> {
  switch (found.kind) {
    case 'resource':
      await answerResource(dependencies, exchange, found, labels);
      return;
    case 'missing':
      authorizeByPath(exchange, dependencies.authorizer);
      await answerMissing(dependencies, exchange);
      return;
    case 'other':
      authorizeByPath(exchange, dependencies.authorizer);
      for (const handler of dependencies.paths) if (await handler(exchange)) return;
      if (
        /^\/(api|apis\/[^/]+)\/[^/]+/.test(exchange.path) &&
        isKnownGroup(dependencies.resourceRegistry, exchange.path)
      ) {
        throw notFoundResource();
      }
      await sendText(exchange, 404, PAGE_NOT_FOUND);
  }
}

async function answerMissing({ resourceRegistry }: HttpEndpointDependencies, exchange: Exchange): Promise<void> {
  const missing = missingCustom(exchange.path, resourceRegistry);
  if (missing === undefined) throw notFoundResource();
  if (missing !== 'nothing') throw missing;
  await sendText(exchange, 404, PAGE_NOT_FOUND);
}

/** Groups of Kubernetes itself answer as its API does, whether we serve them or not. */
function isKnownGroup(resourceRegistry: ResourceIndex, path: string): boolean {
  const [, root, group = ''] = path.split('/');
  return root === 'api' || resourceRegistry.hasGroup(group) || isKubernetesGroup(group);
}

async function answerResource(
  dependencies: HttpEndpointDependencies,
  exchange: AuthenticatedExchange,
  found: ResourceRoute,
  labels: Labels,
): Promise<void> {
  const { resource } = found.definition;
  labels.resource = found.subresource === undefined ? resource : `${resource}/${found.subresource.name}`;
  if (found.subresource?.name === 'proxy') {
    labels.verb = 'connect';
    await dependencies.proxies(exchange, found);
    return;
  }
  const verb = verbOf(found, exchange.method, parseBoolean(exchange.query, 'watch') ?? false);
  if (verb === undefined) {
    authorizeByPath(exchange, dependencies.authorizer);
    const { publishedSchema, stored } = found.definition;
    if (publishedSchema === undefined || !stored) throw methodNotAllowed();
    const refusal = refuseCustom(found, exchange.method);
    if (refusal !== undefined) throw refusal;
    await sendText(exchange, 404, PAGE_NOT_FOUND);
    return;
  }
  labels.verb = verb;
  if (isStreamOfPod(found)) {
    labels.verb = 'connect';
    await dependencies.streams(exchange, found, verb);
    return;
  }
  if (isLog(found)) {
    labels.verb = 'log';
    await dependencies.logs(exchange, found);
    return;
  }
  await dependencies.resources.handle(exchange, found, verb);
}

/** What is known of a connection's client. */
interface Client {
  /** The certificate that TLS has verified. */
  readonly certificate: PeerCertificate | undefined;
  readonly trusted: TrustedPeer | undefined;
  /** Whether a certificate came. */
  readonly shown: 'certificate' | 'none';
  connection: Connection | undefined;
}

/** The clients of connections, asked of TLS once. */
const clients = new WeakMap<object, Client>();

function clientOf(req: IncomingMessage, trust: PeerTrust): Client {
  const transport = transportOf(req);
  const known = clients.get(transport);
  if (known !== undefined) return known;
  const session = (req as unknown as Partial<Http2ServerRequest>).stream?.session;
  const socket = (session?.socket ?? req.socket) as TLSSocket;
  const peer = socket.getPeerCertificate() as PeerCertificate | null;
  const came = peer?.raw === undefined ? undefined : peer;
  const certificate = socket.authorized ? came : undefined;
  const client: Client = {
    certificate,
    trusted: certificate === undefined ? undefined : trust.accept(certificate),
    shown: came === undefined ? 'none' : 'certificate',
    connection: connectionOf(transport),
  };
  clients.set(transport, client);
  return client;
}

/** What TLS knows of the client, if that is still so, and its Authorization header. */
function credentialsOf(req: IncomingMessage, client: Client, trust: PeerTrust): Credentials {
  const authorization = header(req, 'authorization');
  if (client.shown === 'none') return { certificate: undefined, authorization };
  const { certificate, trusted } = client;
  const isGood = trusted !== undefined && trust.isGood(trusted);
  return { certificate: isGood ? certificate : 'untrusted', authorization };
}

/** Turns what was thrown into a Status. Only what is no StatusError, and not the client's leaving, is worth a log line. */
async function fail(exchange: Exchange, error: unknown, logger: Logger): Promise<Status | undefined> {
  const { res } = exchange;
  if (res.destroyed || res.writableEnded) return undefined;
  if (res.headersSent) {
    res.destroy();
    return undefined;
  }
  if (error instanceof RejectedError) {
    res.setHeader('retry-after', '1');
    res.setHeader('x-content-type-options', 'nosniff');
    await sendText(exchange, 429, 'Too many requests, please try again later.\n');
    return undefined;
  }
  const statusError = toStatusError(exchange, error, logger);
  const status = statusError.toStatus();
  await sendStatus(exchange, status, statusError.code);
  return status;
}

function toStatusError(exchange: Exchange, error: unknown, logger: Logger): StatusError {
  if (error instanceof StatusError) return error;
  if (exchange.signal.aborted) {
    return StatusError.timeout('Timeout: request did not complete within the allotted timeout');
  }
  logger.error({ err: error, method: exchange.method, path: exchange.path }, 'a request failed');
  return StatusError.internal(errorMessage(error));
}
