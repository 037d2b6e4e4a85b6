import { parseBoolean } from '../../http/query.ts';

/** What a request to an extension server is about, as authorisation sees it. */
export type RequestAttributes =
  | {
      readonly kind: 'resource';
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly namespace: string;
      readonly name: string;
    }
  | { readonly kind: 'path'; readonly verb: string };

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Reads a path below `/apis/<group>/<version>` by its form alone: which resources there are only the extension server knows. */
export function requestAttributes(method: string, path: string, query: URLSearchParams): RequestAttributes {
  const [, , group = '', , ...rest] = path.replace(/\/$/, '').split('/');
  if (rest.length === 0) return { kind: 'path', verb: method.toLowerCase() };
  const isLegacyWatch = rest[0] === 'watch' && rest.length > 1;
  const parts = isLegacyWatch ? rest.slice(1) : rest;
  const inNamespace = parts[0] === 'namespaces' && parts.length > 2;
  const namespace = parts[0] === 'namespaces' ? (parts[1] ?? '') : '';
  const [resource = '', name = '', subresource = ''] = inNamespace ? parts.slice(2) : parts;
  const isWatch = isLegacyWatch || parseBoolean(query, 'watch') === true;
  const verb = isLegacyWatch ? 'watch' : verbOf(VERBS[method] ?? '', name, isWatch);
  return { kind: 'resource', verb, group, resource, subresource, namespace, name };
}

function verbOf(verb: string, name: string, isWatch: boolean): string {
  if (verb === 'get' && isWatch) return 'watch';
  if (name !== '') return verb;
  if (verb === 'get') return 'list';
  return verb === 'delete' ? 'deletecollection' : verb;
}
