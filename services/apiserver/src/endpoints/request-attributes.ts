import type { Authorizer, PathAuthorizer } from '../auth/authz/authorizer.ts';
import type { AuditedRequest } from '../audit/index.ts';
import { parseBoolean } from '../http/query.ts';
import type { AuthenticatedExchange } from './authenticated-exchange.ts';
import { verbOfMethod } from './request-info.ts';

/** The attributes of a request by the form of its path alone, whether anything is served there or not. */
export type RequestAttributes =
  | Extract<AuditedRequest, { readonly kind: 'resource' }>
  | { readonly kind: 'path'; readonly verb: string };

/** Verbs that stand before the resource in old paths. */
const SPECIAL_VERBS: ReadonlySet<string> = new Set(['proxy', 'watch']);

/** Subresources of Namespaces. Any other part after a namespace's name is a resource in that namespace. */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize']);

/**
 * Reads a path as Kubernetes' RequestInfoFactory does: paths below `/api/<version>/` and `/apis/<group>/<version>/` are those of
 * resources, all others are not.
 */
export function requestAttributes(method: string, path: string, query: URLSearchParams): RequestAttributes {
  const split = withoutOuterSlashes(path).split('/');
  const root = split[0];
  const [group, version = '', ...rest] = root === 'api' ? ['', ...split.slice(1)] : split.slice(1);
  if ((root !== 'api' && root !== 'apis') || group === undefined || rest.length === 0) {
    return { kind: 'path', verb: method.toLowerCase() };
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

/** Authorises a request that no resource of this server answers. Throws StatusError Forbidden. */
export function authorizeByPath(exchange: AuthenticatedExchange, authorizer: Authorizer & PathAuthorizer): void {
  const { method, path, query } = exchange;
  const asked = requestAttributes(method, path, query);
  if (asked.kind === 'path') {
    authorizer.authorizePath(exchange, asked.verb, path);
    return;
  }
  const { verb, group, resource, subresource, namespace, name } = asked;
  const target = { definition: { group, resource }, namespace, name, subresource };
  authorizer.authorize(exchange, verb, target, undefined, query.get('fieldSelector') ?? '');
}
