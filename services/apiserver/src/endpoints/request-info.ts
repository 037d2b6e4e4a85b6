import { NAMESPACES } from '@gantry/objects';
import type { ResourceDefinition, SubresourceDefinition, Verb } from '@gantry/apimachinery';
import type { Exchange } from '../http/exchange.ts';
import { parseBoolean } from '../http/query.ts';
import type { ResourceRegistry } from '../resource-registry.ts';

/** The target of an API path. */
export type Route =
  | {
      readonly kind: 'resource';
      readonly definition: ResourceDefinition;
      readonly subresource: SubresourceDefinition | undefined;
      /** '' for all namespaces or cluster scope. */
      readonly namespace: string;
      /** '' for the collection. */
      readonly name: string;
      /** 'all': a list or watch of a namespaced resource in all namespaces. */
      readonly reach: 'namespace' | 'cluster' | 'all';
      /** The verb of the request; undefined when the resource does not support the method at this path. */
      readonly verb: Verb | undefined;
      /** The handler: `stream` is for exec, attach and portforward of a pod. */
      readonly way: 'object' | 'log' | 'proxy' | 'stream';
    }
  /** The path is below a served group but has no resource. The response is a Status 404. */
  | { readonly kind: 'missing' }
  /** The path is not below a served group: health, discovery, OpenAPI, or unknown. */
  | { readonly kind: 'other' };

export type ResourceRoute = Extract<Route, { kind: 'resource' }>;

/** Finds the definitions of served resources. */
export type ResourceIndex = Pick<ResourceRegistry, 'find' | 'hasGroup'>;

const MISSING: Route = { kind: 'missing' };
const OTHER: Route = { kind: 'other' };

/** The parts of a request that determine its route. */
export type RoutedRequest = Pick<Exchange, 'method' | 'path' | 'query'>;

/** Parses a decoded path (`/api/v1/namespaces/default/pods/web`). One slash at the end is ignored; other empty parts are not. */
export function parseRoute(request: RoutedRequest, resources: ResourceIndex): Route {
  const { path } = request;
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
  const parts = trimmed.split('/').slice(1);
  const group = parts[0] === 'api' ? '' : parts[0] === 'apis' ? parts[1] : undefined;
  if (group === undefined || (parts[0] === 'apis' && group === '')) return OTHER;
  const rest = parts.slice(parts[0] === 'api' ? 1 : 2);
  if (!resources.hasGroup(group) || rest.length < 2) return rest.length >= 2 && parts[0] === 'api' ? MISSING : OTHER;
  const [version = '', ...tail] = rest;
  return parseResource({ group, version }, tail, request, resources);
}

function parseResource(
  { group, version }: { readonly group: string; readonly version: string },
  tail: readonly string[],
  request: RoutedRequest,
  resources: ResourceIndex,
): Route {
  const form = tail[0] === 'watch' ? 'legacy-watch' : 'plain';
  const parts = form === 'legacy-watch' ? tail.slice(1) : tail;
  const inNamespace =
    parts[0] === 'namespaces' && parts.length >= 3 && !isNamespaceSubresource(parts, group, resources);
  const namespace = inNamespace ? (parts[1] ?? '') : '';
  const [resource = '', name = '', subresource = '', ...more] = inNamespace ? parts.slice(2) : parts;
  const definition = resources.find({ group, version, resource });
  const isProxy = group === '' && subresource === 'proxy';
  if (definition === undefined || (more.length > 0 && !isProxy) || (inNamespace && namespace === '')) return MISSING;
  if (inNamespace !== definition.namespaced && (inNamespace || name !== '')) return MISSING;
  if (!isServedAt(definition, inNamespace, name, subresource)) return MISSING;
  const found = definition.subresources.find((s) => s.name === subresource);
  if (subresource !== '' && (found === undefined || form === 'legacy-watch')) return MISSING;
  const reach = !definition.namespaced ? 'cluster' : inNamespace ? 'namespace' : 'all';
  const wanted = form === 'legacy-watch' ? oldWatch(request) : wantedVerb({ name, reach, subresource: found }, request);
  const allowed: readonly Verb[] = found?.verbs ?? definition.verbs;
  const verb = wanted !== undefined && allowed.includes(wanted) ? wanted : undefined;
  return {
    kind: 'resource',
    definition,
    subresource: found,
    namespace,
    name,
    reach,
    verb,
    way: wayOf(definition, found),
  };
}

function wayOf(
  { group, resource }: ResourceDefinition,
  subresource: SubresourceDefinition | undefined,
): ResourceRoute['way'] {
  if (subresource === undefined) return 'object';
  if (subresource.name === 'log' || subresource.name === 'proxy') return subresource.name;
  return group === '' && resource === 'pods' && STREAMS.has(subresource.name) ? 'stream' : 'object';
}

const STREAMS: ReadonlySet<string> = new Set(['attach', 'exec', 'portforward']);

/** Whether a request is long-running: a watch, a stream, a proxy, or a log with `follow`. */
export function isLasting({ way, verb }: ResourceRoute, query: URLSearchParams): boolean {
  if (way === 'log') return parseBoolean(query, 'follow') === true;
  return way === 'stream' || way === 'proxy' || verb === 'watch';
}

const OF_OBJECTS: ReadonlySet<Verb> = new Set(['get', 'update', 'patch', 'delete']);

/** Resources that support only create have no paths of single objects, and no path for all namespaces. */
function isServedAt(
  { verbs, namespaced }: ResourceDefinition,
  inNamespace: boolean,
  name: string,
  subresource: string,
): boolean {
  if (name !== '') return subresource !== '' || verbs.some((verb) => OF_OBJECTS.has(verb));
  return !namespaced || inNamespace || verbs.includes('list');
}

/** `/namespaces/x/status` is the status of the Namespace, not a resource "status" in it. */
function isNamespaceSubresource(parts: readonly string[], group: string, resources: ResourceIndex): boolean {
  if (group !== '' || parts.length !== 3) return false;
  const namespaces = resources.find(NAMESPACES);
  return namespaces?.subresources.some((s) => s.name === parts[2]) ?? false;
}

/** Old paths with `/watch/` are watches without `?watch=true`. */
function oldWatch({ method }: RoutedRequest): Verb | undefined {
  return method === 'GET' ? 'watch' : undefined;
}

function wantedVerb(
  { name, reach, subresource }: Pick<ResourceRoute, 'name' | 'reach' | 'subresource'>,
  { method, query }: RoutedRequest,
): Verb | undefined {
  if (subresource !== undefined) return method === 'POST' ? 'create' : namedVerb(method);
  if (name !== '') return namedVerb(method);
  switch (method) {
    case 'GET':
      return parseBoolean(query, 'watch') === true ? 'watch' : 'list';
    case 'POST':
      return reach === 'all' ? undefined : 'create';
    case 'DELETE':
      return reach === 'all' ? undefined : 'deletecollection';
    default:
      return undefined;
  }
}

const METHOD_VERBS: Readonly<Record<string, Verb>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** The verb of a method on a proxied object or on an object of an extension server; '' if the method has none. */
export function verbOfMethod(method: string): Verb | '' {
  // Over HTTP/2 a method may have any name, such as `constructor`.
  return Object.hasOwn(METHOD_VERBS, method) ? (METHOD_VERBS[method] ?? '') : '';
}

function namedVerb(method: string): Verb | undefined {
  switch (method) {
    case 'GET':
      return 'get';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return 'delete';
    default:
      return undefined;
  }
}
