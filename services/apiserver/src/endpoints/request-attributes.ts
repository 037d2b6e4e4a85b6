import type { Authorizer, PathAuthorizer } from '../auth/authz/authorizer.ts';
import type { AuditedRequest } from '../audit/index.ts';
import { parseBoolean } from '../http/query.ts';
import type { AuthenticatedExchange } from './authenticated-exchange.ts';
import { type RoutedRequest, type Route, verbOfMethod } from './request-info.ts';

/** Verbs that precede the resource in old paths. */
const SPECIAL_VERBS: ReadonlySet<string> = new Set(['proxy', 'watch']);

/** Long-running subresources: streams, and logs, which may be followed. */
const LASTING: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/** Subresources of Namespaces. Any other path segment after the name of a namespace is a resource in that namespace. */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize']);

/**
 * Parses a path like Kubernetes' RequestInfoFactory. Paths below `/api/<version>/` and `/apis/<group>/<version>/` belong to resources;
 * other paths do not.
 */
export function requestAttributes({ method, path, query }: RoutedRequest): AuditedRequest {
  const split = withoutOuterSlashes(path).split('/');
  const root = split[0];
  const [group, version = '', ...rest] = root === 'api' ? ['', ...split.slice(1)] : split.slice(1);
  if ((root !== 'api' && root !== 'apis') || group === undefined || rest.length === 0) {
    return { kind: 'path', verb: method.toLowerCase(), path };
  }
  const special = rest.length > 1 && SPECIAL_VERBS.has(rest[0] ?? '') ? rest[0] : undefined;
  const parts = special === undefined ? rest : rest.slice(1);
  const namespace = parts[0] === 'namespaces' ? (parts[1] ?? '') : '';
  const inNamespace = parts[0] === 'namespaces' && parts.length > 2 && !NAMESPACE_SUBRESOURCES.has(parts[2] ?? '');
  const [resource = '', name = '', part = ''] = inNamespace ? parts.slice(2) : parts;
  const isWatch = parseBoolean(query, 'watch') === true;
  const verb = special ?? verbOf(verbOfMethod(method), name, isWatch);
  const subresource = special === 'proxy' ? '' : part;
  return { kind: 'resource', verb, group, version, resource, subresource, namespace, name };
}

function withoutOuterSlashes(path: string): string {
  let [start, end] = [0, path.length];
  while (path[start] === '/') start++;
  while (end > start && path[end - 1] === '/') end--;
  return path.slice(start, end);
}

function verbOf(verb: string, name: string, isWatch: boolean): string {
  if (name !== '') return verb;
  if (verb === 'get') return isWatch ? 'watch' : 'list';
  return verb === 'delete' ? 'deletecollection' : verb;
}

/**
 * The attributes of a request for flow schemas and the audit log. They come from the route. If the server has no such resource or does
 * not support the method, they come from the path.
 */
export function attributesOf(request: RoutedRequest, route: Route): AuditedRequest {
  if (route.kind !== 'resource' || route.verb === undefined) return requestAttributes(request);
  const { definition, subresource, verb, namespace, name } = route;
  const { group, version, resource } = definition;
  return { kind: 'resource', verb, group, version, resource, subresource: subresource?.name ?? '', namespace, name };
}

/** Whether the request is for a long-running subresource. Flow control does not count these, as in Kubernetes. */
export function isLastingPart(attributes: AuditedRequest): boolean {
  return attributes.kind === 'resource' && LASTING.has(attributes.subresource);
}

/** Authorises a request that no resource of this server serves. Throws StatusError Forbidden. */
export function authorizeByPath(exchange: AuthenticatedExchange, authorizer: Authorizer & PathAuthorizer): void {
  const { attributes, query } = exchange;
  if (attributes.kind === 'path') {
    authorizer.authorizePath(exchange, attributes.verb, attributes.path);
    return;
  }
  const { verb, group, resource, subresource, namespace, name } = attributes;
  const target = { definition: { group, resource }, namespace, name, subresource };
  authorizer.authorize(exchange, verb, target, undefined, query.get('fieldSelector') ?? '');
}
