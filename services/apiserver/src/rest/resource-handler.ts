import type { Clock, Random } from '@gantry/base';
import {
  fieldLabelsOf,
  isReason,
  type KubeObject,
  parseFieldSelector,
  type ResourceDefinition,
  type Status,
  StatusError,
  type Verb,
} from '@gantry/api';
import type { Logger } from '@gantry/service';
import type { Driver, RequestContext, Target, WatchItem, WatchRequest, WriteOptions } from '../driver.ts';
import { isStream, streamOptions } from '../generic-driver/index.ts';
import { type DecodeProtobuf, decodeDeleteOptions } from './delete-options-body.ts';
import { type Exchange, header } from './exchange.ts';
import { negotiateInput, negotiateOutput, negotiatePatch, type OutputForm } from './negotiate.ts';
import {
  checkDeleteOptions,
  deleteOptionsOfQuery,
  type ListOptions,
  parseBoolean,
  parseListOptions,
  parseWriteOptions,
  watchRequestOf,
} from './query.ts';
import { readBody } from './read-body.ts';
import type { ResourceRoute } from './request-info.ts';
import { sendStatus } from './respond.ts';
import { sendList } from './send-list.ts';
import { sendObject } from './send-object.ts';
import type { Tables } from './table.ts';
import { sendWatch } from './watch-stream.ts';

export interface ResourceHandlerDependencies {
  readonly driver: Driver;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly tables: Tables;
  readonly decodeProtobuf: DecodeProtobuf;
  /** Counts open watches; the returned function ends the counting. */
  readonly onWatch: (resource: string) => () => void;
}

/** Serves one verb on one resource through the driver. */
export interface ResourceHandler {
  handle(exchange: Exchange, route: ResourceRoute, verb: Verb): Promise<void>;
}

/** Resources that answer a finished deletion with the object; all others with a Status. As in Kubernetes, and as arbitrary. */
const ANSWERS_DELETED: ReadonlySet<string> = new Set([
  '/pods',
  '/services',
  '/serviceaccounts',
  '/podtemplates',
  '/replicationcontrollers',
  '/persistentvolumeclaims',
  '/persistentvolumes',
  '/resourcequotas',
  '/namespaces',
  'apiextensions.k8s.io/customresourcedefinitions',
  'resource.k8s.io/deviceclasses',
  'resource.k8s.io/resourceclaims',
  'storage.k8s.io/csidrivers',
  'storage.k8s.io/csinodes',
  'storage.k8s.io/storageclasses',
  'storage.k8s.io/volumeattachments',
]);

/** Watches without a timeout of their own last between half an hour and an hour, so that they do not all end together. */
const WATCH_MIN_MS = 1_800_000;

const NO_EXPORT = 'the export parameter, deprecated since v1.14, is no longer supported';

export function createResourceHandler(dependencies: ResourceHandlerDependencies): ResourceHandler {
  const { driver, tables } = dependencies;
  const handlers: Record<Verb, (exchange: Exchange, route: ResourceRoute) => Promise<void>> = {
    get: async (exchange, route) => {
      const form = formOf(exchange, route, 'single');
      if (parseBoolean(exchange.query, 'export') === true) throw StatusError.badRequest(NO_EXPORT);
      const resourceVersion = exchange.query.get('resourceVersion') ?? '';
      const answer = await driver.get(contextOf(exchange), targetOf(route), resourceVersion);
      await sendObject(exchange, 200, answer, form, route.definition, tables);
    },
    list: async (exchange, route) => {
      const form = formOf(exchange, route, 'streams');
      const options = parseListOptions(exchange.query);
      const request = { ...options, namespace: route.namespace };
      await sendList(
        exchange,
        await driver.list(contextOf(exchange), route.definition, request),
        form,
        route.definition,
        dependencies,
      );
    },
    watch: (exchange, route) => watch(dependencies, exchange, route),
    create: async (exchange, route) => {
      const rows = route.definition.stored === false ? 'no-tables' : 'tables';
      const form = formOf(exchange, route, 'single', rows);
      const mediaType = negotiateInput(header(exchange.req, 'content-type'));
      const bytes = await readBody(exchange.req, exchange.signal);
      const options = parseWriteOptions(exchange.query, 'CreateOptions', header(exchange.req, 'user-agent'));
      const answer = await driver.create(contextOf(exchange), targetOf(route), { bytes, mediaType }, options);
      await sendObject(exchange, 201, answer, form, route.definition, tables);
    },
    update: async (exchange, route) => {
      const form = formOf(exchange, route, 'single');
      const mediaType = negotiateInput(header(exchange.req, 'content-type'));
      const bytes = await readBody(exchange.req, exchange.signal);
      const options = parseWriteOptions(exchange.query, 'UpdateOptions', header(exchange.req, 'user-agent'));
      const { answer, created } = await driver.update(
        contextOf(exchange),
        targetOf(route),
        { bytes, mediaType },
        options,
      );
      await sendObject(exchange, created ? 201 : 200, answer, form, route.definition, tables);
    },
    patch: async (exchange, route) => {
      const patchType = negotiatePatch(header(exchange.req, 'content-type'), route.definition);
      const form = formOf(exchange, route, 'single');
      const bytes = await readBody(exchange.req, exchange.signal);
      const userAgent = header(exchange.req, 'user-agent');
      const options = parseWriteOptions(exchange.query, 'PatchOptions', userAgent, patchType);
      const patched = await driver.patch(contextOf(exchange), targetOf(route), bytes, patchType, options);
      const { answer, created } = patched;
      await sendObject(exchange, created ? 201 : 200, answer, form, route.definition, tables);
    },
    delete: (exchange, route) => deleteOne(dependencies, exchange, route),
    deletecollection: (exchange, route) => deleteMany(dependencies, exchange, route),
  };
  return {
    handle: (exchange, route, verb) => {
      const target = targetOf(route);
      for (const warning of route.definition.requestWarnings ?? []) exchange.warnings.add(warning);
      if (!isStream(target)) return handlers[verb](exchange, route);
      return driver.connect(contextOf(exchange), target, verb, streamOptions(target, exchange.query));
    },
  };
}

/** The form of an answer. */
function formOf(
  exchange: Exchange,
  { definition }: ResourceRoute,
  streams: 'streams' | 'single',
  tables?: 'tables' | 'no-tables',
): OutputForm {
  const isCustom = definition.publishedSchema !== undefined;
  const accept = header(exchange.req, 'accept');
  return negotiateOutput(accept, streams, tables, isCustom ? 'no-protobuf' : 'any-form');
}

function contextOf(exchange: Exchange, signal: AbortSignal = exchange.signal): RequestContext {
  return { user: exchange.user, signal, fence: undefined, warn: (text) => exchange.warnings.add(text) };
}

function targetOf(route: ResourceRoute): Target {
  const { definition, namespace, name, subresource } = route;
  return { definition, namespace, name, subresource: subresource?.name ?? '' };
}

async function watch(
  dependencies: ResourceHandlerDependencies,
  exchange: Exchange,
  route: ResourceRoute,
): Promise<void> {
  const { driver, clock, random, logger, tables, onWatch } = dependencies;
  const form = formOf(exchange, route, 'streams');
  const options = parseListOptions(exchange.query);
  const timeoutMs =
    (options.timeoutSeconds ?? 0) > 0 ? (options.timeoutSeconds ?? 0) * 1000 : WATCH_MIN_MS * (1 + random());
  // No AbortSignal.any: that looks at all its sources each time it is asked, and a watch asks at every event.
  const ended = new AbortController();
  const { signal } = ended;
  const end = () => ended.abort(exchange.signal.reason);
  const cancel = clock.setTimer(Math.min(timeoutMs, 2 ** 31 - 1), end);
  if (exchange.signal.aborted) end();
  else exchange.signal.addEventListener('abort', end, { once: true });
  const closed = onWatch(route.definition.resource);
  try {
    const request = { ...watchRequestOf(namedOnly(options, route)), namespace: route.namespace };
    const items = await openWatch(driver, contextOf(exchange, signal), route.definition, request);
    await sendWatch({ ...exchange, signal }, items, { definition: route.definition, form, clock, tables, logger });
  } finally {
    closed();
    cancel();
    exchange.signal.removeEventListener('abort', end);
  }
}

/**
 * Opens a watch. That its version is too old, or not reached in time, is an ERROR event of a watch that has begun, as with
 * Kubernetes' own cache; all else that is wrong is an answer of its own.
 */
async function openWatch(
  driver: Driver,
  context: RequestContext,
  definition: ResourceDefinition,
  request: WatchRequest,
): Promise<AsyncIterable<readonly WatchItem[]>> {
  try {
    return await driver.watch(context, definition, request);
  } catch (error) {
    if (isReason(error, 'Expired') || isReason(error, 'Gone') || isTooLargeVersion(error)) return failing(error);
    throw error;
  }
}

function isTooLargeVersion(error: unknown): error is StatusError {
  if (!isReason(error, 'Timeout')) return false;
  return error.toStatus().details?.causes?.some((cause) => cause.reason === 'ResourceVersionTooLarge') === true;
}

async function* failing(error: StatusError): AsyncIterable<readonly WatchItem[]> {
  await Promise.resolve();
  throw error;
}

/** A watch on one object's path is a watch with a field selector for its name; another selector beside it must say the same. */
function namedOnly(options: ListOptions, { name, definition }: ResourceRoute): ListOptions {
  if (name === '') return options;
  const { fieldSelector } = options;
  if (fieldSelector === '') return { ...options, fieldSelector: `metadata.name=${name}` };
  const selected = parseFieldSelector(fieldSelector, fieldLabelsOf(definition));
  if (selected.requiresExact('metadata.name') === name) return options;
  throw StatusError.badRequest("fieldSelector metadata.name doesn't match requested name");
}

async function readDeleteOptions(
  dependencies: ResourceHandlerDependencies,
  exchange: Exchange,
): Promise<ReturnType<typeof checkDeleteOptions> & { write: WriteOptions }> {
  const bytes = await readBody(exchange.req, exchange.signal);
  // What type nothing is of does not matter.
  const raw =
    bytes.length === 0
      ? deleteOptionsOfQuery(exchange.query)
      : decodeDeleteOptions(bytes, negotiateInput(header(exchange.req, 'content-type')), dependencies.decodeProtobuf);
  const checked = checkDeleteOptions(raw);
  const userAgent = header(exchange.req, 'user-agent');
  const write = { ...parseWriteOptions(new URLSearchParams(), 'UpdateOptions', userAgent), dryRun: checked.dryRun };
  return { ...checked, write };
}

async function deleteOne(
  dependencies: ResourceHandlerDependencies,
  exchange: Exchange,
  route: ResourceRoute,
): Promise<void> {
  const { driver, tables } = dependencies;
  const { definition } = route;
  const form = formOf(exchange, route, 'single');
  const { options, write } = await readDeleteOptions(dependencies, exchange);
  const { answer, gone } = await driver.delete(contextOf(exchange), targetOf(route), options, write);
  if (!gone || ANSWERS_DELETED.has(`${definition.group}/${definition.resource}`)) {
    const code = !gone && options.orphanDependents === false ? 202 : 200;
    await sendObject(exchange, code, answer, form, definition, tables);
    return;
  }
  await sendStatus(exchange, deletedStatus(route, answer.object), 200);
}

function deletedStatus(route: ResourceRoute, object: KubeObject): Status {
  const { group, resource } = route.definition;
  const details = {
    name: route.name,
    ...(group === '' ? {} : { group }),
    kind: resource,
    ...(object.metadata.uid === undefined ? {} : { uid: object.metadata.uid }),
  };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}

async function deleteMany(
  dependencies: ResourceHandlerDependencies,
  exchange: Exchange,
  route: ResourceRoute,
): Promise<void> {
  const { driver } = dependencies;
  const form = formOf(exchange, route, 'single');
  const list = parseListOptions(exchange.query);
  const { options, write } = await readDeleteOptions(dependencies, exchange);
  const request = { ...list, namespace: route.namespace };
  const answer = await driver.deleteCollection(contextOf(exchange), route.definition, request, options, write);
  await sendList(exchange, answer, form, route.definition, dependencies);
}
