import type { Authorizer, PathAuthorizer } from '../auth/authz/authorizer.ts';
import type { AuditedRequest } from '../audit/index.ts';
import { parseBoolean } from '../http/query.ts';
import type { AuthenticatedExchange } from './authenticated-exchange.ts';
import { type RoutedRequest, type Route, verbOfMethod } from './request-info.ts';

/** Verbs that stand before the resource in old paths. */
const SPECIAL_VERBS: ReadonlySet<string> = new Set(['proxy', 'watch']);

/** Subresources that are streams by nature, or may be followed. */
const LASTING: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/** Subresources of Namespaces. Any other part after a namespace's name is a resource in that namespace. */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize']);

/**
 * Reads a path as Kubernetes' RequestInfoFactory does: paths below `/api/<version>/` and `/apis/<group>/<version>/` are those of
 * resources, all others are not.
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
 * What a request asks for, as flow schemas and the audit log name it: by its route, or by the form of its path where this server has no
 * resource or takes no such method.
 */
export function attributesOf(request: RoutedRequest, route: Route): AuditedRequest {
  if (route.kind !== 'resource' || route.verb === undefined) return requestAttributes(request);
  const { definition, subresource, verb, namespace, name } = route;
  const { group, version, resource } = definition;
  return { kind: 'resource', verb, group, version, resource, subresource: subresource?.name ?? '', namespace, name };
}

/** Whether a request is for a subresource that lasts: flow control does not count those, as in Kubernetes. */
export function isLastingPart(attributes: AuditedRequest): boolean {
  return attributes.kind === 'resource' && LASTING.has(attributes.subresource);
}

/** Authorises a request that no resource of this server answers. Throws StatusError Forbidden. */
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
