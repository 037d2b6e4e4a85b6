import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Activities, type Clock, errorMessage, type NewUid, onAbort } from '@gantry/base';
import type { ResourceDefinition } from '@gantry/apimachinery';
import { type Status, StatusError } from '@gantry/objects';
import type { Logger, PeerTrust } from '@gantry/service';
import type { AuditedRequest, AuditTrail } from '../../audit/index.ts';
import { type Authenticate, moveWebSocketToken } from '../../auth/authn/authenticator.ts';
import { impersonated } from '../../auth/authn/impersonation.ts';
import type { StandingRequests } from '../../auth/authn/standing-requests.ts';
import type { AccessDecider, Authorizer, PathAuthorizer } from '../../auth/authz/authorizer.ts';
import type { User } from '../../auth/user.ts';
import { type FlowController, widthOfList } from '../../flow-control/flow-controller.ts';
import { RejectedError, type Seats } from '../../flow-control/priority-level.ts';
import { discardBody } from '../../http/discard-body.ts';
import { type Exchange, parseTarget } from '../../http/exchange.ts';
import { requestTimeoutMs } from '../../http/query.ts';
import { sendStatus, sendText } from '../../http/respond.ts';
import type { AggregatedApis } from '../proxy/aggregated-handler.ts';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';
import type { StartGate } from '../../readiness.ts';
import type { LogHandler } from '../logs/log-handler.ts';
import type { ProxyHandler } from '../proxy/proxy-handler.ts';
import { attributesOf, authorizeByPath, isLastingPart, requestAttributes } from '../request-attributes.ts';
import { isLasting, parseRoute, type ResourceIndex, type ResourceRoute, type Route } from '../request-info.ts';
import type { ResourceHandler } from '../rest/resource-handler.ts';
import type { StreamHandler } from '../streams/stream-handler.ts';
import { clientOf, credentialsOf, ownConnection } from './clients.ts';
import { answerMethod, answerMissing } from './not-served.ts';
import type { ServePage } from './pages.ts';
import { type RequestMetrics, RequestRecord } from './request-record.ts';

/** Serves a request. */
export type HttpEndpoint = (req: IncomingMessage, res: ServerResponse) => void;

export interface HttpEndpointDependencies {
  readonly authenticate: Authenticate;
  readonly trust: PeerTrust;
  readonly untilStarted: StartGate;
  readonly standing: StandingRequests;
  readonly authorizer: Authorizer & PathAuthorizer & AccessDecider;
  readonly resourceRegistry: ResourceIndex;
  /** Waits until the resource registry knows all changes that were committed before the call. */
  readonly catchUp: (signal: AbortSignal) => Promise<unknown>;
  readonly resources: ResourceHandler;
  readonly aggregated: AggregatedApis;
  readonly logs: LogHandler;
  readonly proxies: ProxyHandler;
  readonly streams: StreamHandler;
  readonly pages: ServePage;
  readonly metrics: RequestMetrics;
  readonly activities: Activities;
  readonly audit: AuditTrail;
  readonly flowControl: FlowController;
  /** The number of stored objects of a resource. */
  readonly stored: (definition: ResourceDefinition) => number;
  readonly clock: Clock;
  readonly newUid: NewUid;
  readonly logger: Logger;
  /** Aborted when the server drains: ends watches and followed logs. */
  readonly stopping: AbortSignal;
  /** Its current signal ends watches, which another API server can go on with; not streams of a container. */
  readonly watchesEnd: () => AbortSignal;
}

/** Serves every request. Every error becomes a Status. */
export function createHttpEndpoint(dependencies: HttpEndpointDependencies): HttpEndpoint {
  return (req, res) => {
    serve(dependencies, req, res).catch((error: unknown) => {
      dependencies.logger.error({ err: error, url: req.url }, 'a request was not answered');
      res.destroy();
    });
  };
}

/** The reason for which a request was aborted. */
class RequestEndedError extends Error {
  override readonly name = 'RequestEndedError';
}

// Created once: an error with a stack trace per request would be a large part of the cost of a small request.
const CLIENT_GONE = new RequestEndedError('the client has gone');
const OUT_OF_TIME = new RequestEndedError('the time for the request is up');

/** What is served from stored objects. Pages such as `/readyz` say why the server is not ready. */
const API = /^\/(apis?|openapi)(\/|$)/;

const NOWHERE = { path: '/', query: new URLSearchParams() };

async function serve(dependencies: HttpEndpointDependencies, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { activities, clock, logger, resourceRegistry } = dependencies;
  const abort = abortWhenLeft(res);
  const record = new RequestRecord(dependencies);
  res.setHeader('audit-id', record.auditId);
  const activity = activities.begin('request', () => `${req.method} ${req.url}`);
  const target = parseTarget(req.url ?? '/');
  const exchange: Exchange = {
    req,
    res,
    method: req.method ?? 'GET',
    ...(target ?? NOWHERE),
    signal: abort.signal,
    warnings: new Set(),
    onBody: record.onBody,
    keptBytes: record.keptBytes,
  };
  let failure: Status | undefined;
  try {
    if (target === undefined) throw StatusError.badRequest('the path is not decodable');
    await handle(dependencies, exchange, abort, record);
    discardBody(req, clock);
  } catch (error) {
    discardBody(req, clock);
    // The request may have failed during authentication or impersonation, before its audit record began.
    record.begin(exchange, () => attributesOf(exchange, parseRoute(exchange, resourceRegistry)));
    failure = await fail(exchange, error, logger);
  } finally {
    record.completed(exchange, failure);
    activities.end(activity);
  }
}

function abortWhenLeft(res: ServerResponse): AbortController {
  const abort = new AbortController();
  const left = (): void => {
    if (!res.writableFinished) abort.abort(CLIENT_GONE);
  };
  res.on('error', left);
  res.once('close', left);
  return abort;
}

/** Authenticates a request, resolves its target, waits for seats, and serves it. The handler of the target authorises it first. */
async function handle(
  dependencies: HttpEndpointDependencies,
  exchange: Exchange,
  abort: AbortController,
  record: RequestRecord,
): Promise<void> {
  const { authenticate, trust, authorizer } = dependencies;
  const { req } = exchange;
  const client = clientOf(req, trust);
  if (API.test(exchange.path)) await dependencies.untilStarted(exchange.signal);
  moveWebSocketToken(req.headers);
  record.requester = await authenticate(credentialsOf(req, client, trust), (notice) => {
    record.noticed(notice);
    if (notice.warning !== undefined) exchange.warnings.add(notice.warning);
  });
  ownConnection(client, record.requester);
  const user = impersonated(record.requester, req.headers, authorizer);
  const asked = await resolve(dependencies, exchange);
  using _end = endInTime(dependencies, exchange, asked, abort, () => authenticate(credentialsOf(req, client, trust)));
  const audit = record.begin(exchange, () => asked.attributes, user);
  using seats = await admit(dependencies, exchange, user, asked);
  const begun = (): void => seats?.release();
  await answer(dependencies, { ...exchange, user, audit, attributes: asked.attributes, begun }, asked, record);
}

/** The target of a request. */
interface Asked {
  /** The extension server that serves the path, if any. */
  readonly remote: ReturnType<AggregatedApis['find']>;
  /** The route of the path in this server. */
  readonly route: Route;
  readonly attributes: AuditedRequest;
  readonly lasts: 'yes' | 'no';
}

async function resolve(
  { aggregated, resourceRegistry, catchUp }: HttpEndpointDependencies,
  exchange: Exchange,
): Promise<Asked> {
  const look = () => ({ remote: aggregated.find(exchange.path), route: parseRoute(exchange, resourceRegistry) });
  let { remote, route } = look();
  if (remote === undefined && route.kind !== 'resource' && /^\/apis\/[^/.]+\.[^/]+\//.test(exchange.path)) {
    // The client may know the resource already from another apiserver.
    await catchUp(exchange.signal);
    ({ remote, route } = look());
  }
  const attributes = remote === undefined ? attributesOf(exchange, route) : requestAttributes(exchange);
  const lasts =
    remote === undefined
      ? route.kind === 'resource' && isLasting(route, exchange.query)
      : aggregated.isLasting(exchange, attributes);
  return { remote, route, attributes, lasts: lasts ? 'yes' : 'no' };
}

/**
 * Aborts a long-running request when its credentials become invalid or the server stops. Aborts other requests after their timeout. As in
 * Kubernetes, a log without `follow` has no timeout, since the client could not see that the log was cut off.
 */
function endInTime(
  { standing, stopping, watchesEnd, clock }: HttpEndpointDependencies,
  { query }: Exchange,
  { remote, route, lasts }: Asked,
  abort: AbortController,
  authenticate: () => Promise<unknown>,
): Disposable | undefined {
  if (lasts === 'yes') {
    const unfollow = standing.follow(abort, authenticate);
    const stop = onAbort(stopping, () => abort.abort(stopping.reason));
    const isWatch = remote === undefined && route.kind === 'resource' && route.verb === 'watch';
    const over = isWatch ? watchesEnd() : undefined;
    const end = over && onAbort(over, () => abort.abort(over.reason));
    return {
      [Symbol.dispose]: () => {
        unfollow();
        stop[Symbol.dispose]();
        end?.[Symbol.dispose]();
      },
    };
  }
  if (remote === undefined && route.kind === 'resource' && route.way === 'log') return undefined;
  return { [Symbol.dispose]: clock.setTimer(requestTimeoutMs(query), () => abort.abort(OUT_OF_TIME)) };
}

/** Takes seats for a request. Returns undefined for long-running subresources, which flow control does not count. */
async function admit(
  { flowControl, stored }: HttpEndpointDependencies,
  { res, query, signal }: Exchange,
  user: User,
  { remote, route, attributes }: Asked,
): Promise<Seats | undefined> {
  if (isLastingPart(attributes)) return undefined;
  const request = { ...attributes, user };
  const classified = flowControl.classify(request);
  const { schema, level } = classified;
  if (schema.uid !== '') res.setHeader('x-kubernetes-pf-flowschema-uid', schema.uid);
  if (level.settings.uid !== '') res.setHeader('x-kubernetes-pf-prioritylevel-uid', level.settings.uid);
  const isList = remote === undefined && route.kind === 'resource' && route.verb === 'list';
  const isFiltered = query.has('labelSelector') || query.has('fieldSelector');
  const limit = Number(query.get('limit') ?? 0);
  const width = isList ? widthOfList(stored(route.definition), limit, isFiltered) : 1;
  return flowControl.admit(classified, request, width, signal);
}

async function answer(
  dependencies: HttpEndpointDependencies,
  exchange: AuthenticatedExchange,
  { remote, route, lasts }: Asked,
  record: RequestRecord,
): Promise<void> {
  const { aggregated, authorizer, pages, resourceRegistry } = dependencies;
  if (remote !== undefined) {
    if (lasts === 'yes') exchange.begun();
    await aggregated.serve(exchange, remote);
  } else if (route.kind === 'resource') {
    record.reached(route);
    await answerResource(dependencies, exchange, route);
  } else {
    authorizeByPath(exchange, authorizer);
    await (route.kind === 'missing' ? answerMissing(exchange, resourceRegistry) : pages(exchange));
  }
}

async function answerResource(
  dependencies: HttpEndpointDependencies,
  exchange: AuthenticatedExchange,
  route: ResourceRoute,
): Promise<void> {
  const { way, verb } = route;
  if (way === 'proxy') return dependencies.proxies(exchange, route);
  if (verb === undefined) {
    authorizeByPath(exchange, dependencies.authorizer);
    return answerMethod(exchange, route);
  }
  if (way === 'stream') return dependencies.streams(exchange, route, verb);
  if (way === 'log') return dependencies.logs(exchange, route);
  return dependencies.resources.handle(exchange, route, verb);
}

/** Sends the response of a failed request. Logs only unexpected errors: no StatusErrors, rejections of flow control or aborted requests. */
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
