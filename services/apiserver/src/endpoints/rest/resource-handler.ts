import { type Clock, onAbort, type Random } from '@gantry/base';
import {
  type ResourceDefinition,
  type Verb,
  fieldLabelsOf,
  hasProtobuf,
  parseFieldSelector,
} from '@gantry/apimachinery';
import { FENCE_HEADER, parseFence } from '@gantry/client';
import { type KubeObject, type Status, StatusError, isReason } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import {
  type Body,
  type DeleteBody,
  type Registry,
  type RequestContext,
  requestContext,
  type Target,
  type WatchRequest,
} from '../../registry/index.ts';
import type { WatchItem } from '../../cache/object-response.ts';
import { type DecodeProtobuf, decodeDeleteOptions } from './delete-options-body.ts';
import { header } from '../../http/exchange.ts';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';
import { negotiateInput, negotiateOutput, negotiatePatch, type OutputForm } from '../../http/negotiate.ts';
import { parseBoolean } from '../../http/query.ts';
import { checkDeleteOptions, deleteOptionsOfQuery } from './delete-options.ts';
import { type ListOptions, parseListOptions, watchRequestOf } from './list-options.ts';
import { parseWriteOptions } from './write-options.ts';
import type { BodyReader } from '../../http/read-body.ts';
import type { ResourceRoute } from '../request-info.ts';
import { sendStatus } from '../../http/respond.ts';
import { sendList } from './send-list.ts';
import { sendObject } from './send-object.ts';
import type { Tables } from './table.ts';
import { sendWatch } from './watch-stream.ts';

export interface ResourceHandlerDependencies {
  readonly registry: Registry;
  readonly bodies: BodyReader;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly tables: Tables;
  readonly decodeProtobuf: DecodeProtobuf;
  /** Counts an open watch until the returned function is called. */
  readonly onWatch: (resource: string) => () => void;
}

/** Serves one verb on one resource through the registry. */
export interface ResourceHandler {
  handle(exchange: AuthenticatedExchange, route: ResourceRoute, verb: Verb): Promise<void>;
}

/** Watches without `timeoutSeconds` last between 30 and 60 minutes, at random, so that they do not all end at the same time. */
const WATCH_MIN_MS = 1_800_000;

const NO_EXPORT = 'the export parameter, deprecated since v1.14, is no longer supported';

export function createResourceHandler(dependencies: ResourceHandlerDependencies): ResourceHandler {
  const { registry, tables } = dependencies;
  const handlers: Record<Verb, (exchange: AuthenticatedExchange, route: ResourceRoute) => Promise<void>> = {
    get: async (exchange, route) => {
      const form = formOf(exchange, route, 'single');
      if (parseBoolean(exchange.query, 'export') === true) throw StatusError.badRequest(NO_EXPORT);
      const resourceVersion = exchange.query.get('resourceVersion') ?? '';
      const response = await registry.get(requestContext(exchange), targetOf(route), resourceVersion);
      await sendObject(exchange, response, { code: 200, form, definition: route.definition, tables });
    },
    list: async (exchange, route) => {
      const form = formOf(exchange, route, 'streams');
      const options = parseListOptions(exchange.query);
      const request = { ...options, namespace: route.namespace };
      await sendList(
        exchange,
        await registry.list(requestContext(exchange), route.definition, request),
        form,
        route.definition,
        dependencies,
      );
    },
    watch: (exchange, route) => watch(dependencies, exchange, route),
    create: async (exchange, route) => {
      const rows = route.definition.stored === false ? 'no-tables' : 'tables';
      const form = formOf(exchange, route, 'single', rows);
      const body = bodyOf(dependencies, exchange);
      const options = parseWriteOptions(exchange.query, 'CreateOptions', header(exchange.req, 'user-agent'));
      const response = await registry.create(writeContext(exchange), targetOf(route), body, options);
      await sendObject(exchange, response, { code: 201, form, definition: route.definition, tables });
    },
    update: async (exchange, route) => {
      const form = formOf(exchange, route, 'single');
      const body = bodyOf(dependencies, exchange);
      const options = parseWriteOptions(exchange.query, 'UpdateOptions', header(exchange.req, 'user-agent'));
      const { response, created } = await registry.update(writeContext(exchange), targetOf(route), body, options);
      const code = created ? 201 : 200;
      await sendObject(exchange, response, { code, form, definition: route.definition, tables });
    },
    patch: async (exchange, route) => {
      const type = negotiatePatch(header(exchange.req, 'content-type'), route.definition);
      const form = formOf(exchange, route, 'single');
      const sent = { type, read: () => readBody(dependencies, exchange, type) };
      const userAgent = header(exchange.req, 'user-agent');
      const options = parseWriteOptions(exchange.query, 'PatchOptions', userAgent, type);
      const { response, created } = await registry.patch(writeContext(exchange), targetOf(route), sent, options);
      const code = created ? 201 : 200;
      await sendObject(exchange, response, { code, form, definition: route.definition, tables });
    },
    delete: (exchange, route) => deleteOne(dependencies, exchange, route),
    deletecollection: (exchange, route) => deleteMany(dependencies, exchange, route),
  };
  return {
    handle: (exchange, route, verb) => {
      for (const warning of route.definition.requestWarnings ?? []) exchange.warnings.add(warning);
      return handlers[verb](exchange, route);
    },
  };
}

/** The form of the response, by the Accept header. */
function formOf(
  exchange: AuthenticatedExchange,
  { definition }: ResourceRoute,
  streams: 'streams' | 'single',
  tables?: 'tables' | 'no-tables',
): OutputForm {
  const accept = header(exchange.req, 'accept');
  return negotiateOutput(accept, streams, tables, hasProtobuf(definition) ? 'any-form' : 'no-protobuf');
}

/** The context of a write, with the fence of a leader. */
function writeContext(exchange: AuthenticatedExchange): RequestContext {
  const fence = header(exchange.req, FENCE_HEADER);
  return requestContext(exchange, exchange.signal, fence === undefined ? undefined : parseFence(fence));
}

function targetOf(route: ResourceRoute): Target {
  const { definition, namespace, name, subresource } = route;
  return { definition, namespace, name, subresource: subresource?.name ?? '' };
}

async function watch(
  dependencies: ResourceHandlerDependencies,
  exchange: AuthenticatedExchange,
  route: ResourceRoute,
): Promise<void> {
  const { registry, clock, random, logger, tables, onWatch } = dependencies;
  const form = formOf(exchange, route, 'streams');
  const options = parseListOptions(exchange.query);
  const timeoutMs =
    (options.timeoutSeconds ?? 0) > 0 ? (options.timeoutSeconds ?? 0) * 1000 : WATCH_MIN_MS * (1 + random());
  // AbortSignal.any would be slower: it checks all its sources at each read of `aborted`, and a watch reads it at every event.
  const ended = new AbortController();
  const { signal } = ended;
  const end = () => ended.abort(exchange.signal.reason);
  const cancel = clock.setTimer(timeoutMs, end);
  using _ = onAbort(exchange.signal, end);
  const closed = onWatch(route.definition.resource);
  try {
    const request = { ...watchRequestOf(namedOnly(options, route)), namespace: route.namespace };
    const isOver = () => signal.aborted && !exchange.signal.aborted;
    const items = await openWatch(registry, requestContext(exchange, signal), route.definition, request).catch(
      (error: unknown) => {
        // The timeout of the watch passed before it was open. As in Kubernetes, the response is a watch without events.
        if (isOver() && isReason(error, 'Timeout')) return nothing();
        throw error;
      },
    );
    exchange.begun();
    const { definition } = route;
    await sendWatch({ ...exchange, signal }, items, { definition, form, clock, tables, logger, left: end });
  } finally {
    closed();
    cancel();
  }
}

/**
 * Opens a watch. As in Kubernetes, a version that is too old, or is not reached in time, is reported by an ERROR event in the watch. All
 * other errors are error responses.
 */
async function openWatch(
  registry: Registry,
  context: RequestContext,
  definition: ResourceDefinition,
  request: WatchRequest,
): Promise<AsyncIterable<readonly WatchItem[]>> {
  try {
    return await registry.watch(context, definition, request);
  } catch (error) {
    if (isReason(error, 'Expired') || isReason(error, 'Gone') || isTooLargeVersion(error)) return failing(error);
    throw error;
  }
}

function isTooLargeVersion(error: unknown): error is StatusError {
  if (!isReason(error, 'Timeout')) return false;
  return error.toStatus().details?.causes?.some((cause) => cause.reason === 'ResourceVersionTooLarge') === true;
}

async function* nothing(): AsyncIterable<readonly WatchItem[]> {}

async function* failing(error: StatusError): AsyncIterable<readonly WatchItem[]> {
  await Promise.resolve();
  throw error;
}

/** A watch of the path of one object gets a field selector for its name. An explicit field selector must select the same name. */
function namedOnly(options: ListOptions, { name, definition }: ResourceRoute): ListOptions {
  if (name === '') return options;
  const { fieldSelector } = options;
  if (fieldSelector === '') return { ...options, fieldSelector: `metadata.name=${name}` };
  const selected = parseFieldSelector(fieldSelector, fieldLabelsOf(definition));
  if (selected.requiresExact('metadata.name') === name) return options;
  throw StatusError.badRequest("fieldSelector metadata.name doesn't match requested name");
}

/** The body of a write, which the registry reads once it has authorised the request. */
function bodyOf(dependencies: ResourceHandlerDependencies, exchange: AuthenticatedExchange): Body {
  const mediaType = negotiateInput(header(exchange.req, 'content-type'));
  const { bodies } = dependencies;
  const nextTurn = (): Promise<void> => bodies.nextTurn(exchange.user.name);
  return { mediaType, read: () => readBody(dependencies, exchange, mediaType), nextTurn };
}

async function readBody(
  { bodies }: ResourceHandlerDependencies,
  { req, user, signal, audit }: AuthenticatedExchange,
  mediaType: string,
): Promise<Uint8Array> {
  const bytes = await bodies.read(req, user.name, signal);
  audit.sent(mediaType, bytes);
  return bytes;
}

/** The options of a deletion, which the registry reads once it has authorised the request. */
function deleteBodyOf(dependencies: ResourceHandlerDependencies, exchange: AuthenticatedExchange): DeleteBody {
  return {
    read: async () => {
      const bytes = await readBody(dependencies, exchange, header(exchange.req, 'content-type') ?? '');
      // An empty body needs no Content-Type.
      if (bytes.length === 0) return checkDeleteOptions(deleteOptionsOfQuery(exchange.query));
      const mediaType = negotiateInput(header(exchange.req, 'content-type'));
      return checkDeleteOptions(decodeDeleteOptions(bytes, mediaType, dependencies.decodeProtobuf));
    },
  };
}

async function deleteOne(
  dependencies: ResourceHandlerDependencies,
  exchange: AuthenticatedExchange,
  route: ResourceRoute,
): Promise<void> {
  const { registry, tables } = dependencies;
  const { definition } = route;
  const form = formOf(exchange, route, 'single');
  const { read } = deleteBodyOf(dependencies, exchange);
  let orphanDependents: boolean | undefined;
  const body: DeleteBody = {
    read: async () => {
      const deletion = await read();
      ({ orphanDependents } = deletion.options);
      return deletion;
    },
  };
  const { response, gone } = await registry.delete(writeContext(exchange), targetOf(route), body);
  if (!gone || definition.strategy.deletionResponse === 'object') {
    const code = !gone && orphanDependents === false ? 202 : 200;
    await sendObject(exchange, response, { code, form, definition, tables });
    return;
  }
  await sendStatus(exchange, deletedStatus(route, response.object), 200);
}

function deletedStatus(route: ResourceRoute, object: KubeObject): Status {
  const { group, resource } = route.definition;
  const details = { name: route.name, group: group || undefined, kind: resource, uid: object.metadata.uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}

async function deleteMany(
  dependencies: ResourceHandlerDependencies,
  exchange: AuthenticatedExchange,
  route: ResourceRoute,
): Promise<void> {
  const { registry } = dependencies;
  const form = formOf(exchange, route, 'single');
  const list = parseListOptions(exchange.query);
  const body = deleteBodyOf(dependencies, exchange);
  const request = { ...list, namespace: route.namespace };
  const response = await registry.deleteCollection(writeContext(exchange), route.definition, request, body);
  await sendList(exchange, response, form, route.definition, dependencies);
}
