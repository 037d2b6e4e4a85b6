import type { AuditedRequest } from '../../audit/index.ts';
import type { Exchange } from '../../http/exchange.ts';
import { parseBoolean } from '../../http/query.ts';
import { requestAttributes } from '../aggregation/request-attributes.ts';
import { type Route, verbOf } from '../request-info.ts';

/** What a request is about, as the audit log names it: by the route, or by the form of the path where extension servers serve it. */
export function auditedRequest(
  { method, path, query }: Pick<Exchange, 'method' | 'path' | 'query'>,
  found: Route,
): AuditedRequest {
  if (found.kind === 'resource') {
    const { definition, subresource, namespace, name } = found;
    const { group, version, resource } = definition;
    const verb = verbOf(found, method, parseBoolean(query, 'watch') ?? false) ?? method.toLowerCase();
    return { kind: 'resource', verb, group, version, resource, subresource: subresource?.name ?? '', namespace, name };
  }
  const asked = path.startsWith('/apis/') ? requestAttributes(method, path, query) : undefined;
  if (asked === undefined || asked.kind === 'path') return { kind: 'path', verb: method.toLowerCase(), path };
  return { ...asked, version: path.split('/')[3] ?? '' };
}
