import type { AuditedRequest } from '../../audit/index.ts';
import type { Exchange } from '../../http/exchange.ts';
import { parseBoolean } from '../../http/query.ts';
import { requestAttributes } from '../request-attributes.ts';
import { type Route, verbOf } from '../request-info.ts';

/** What a request is about, as the audit log names it: by the route, or by the form of the path where this server has no resource or takes no such method. */
export function auditedRequest(
  { method, path, query }: Pick<Exchange, 'method' | 'path' | 'query'>,
  found: Route,
): AuditedRequest {
  const verb = found.kind === 'resource' ? verbOf(found, method, parseBoolean(query, 'watch') ?? false) : undefined;
  if (found.kind === 'resource' && verb !== undefined) {
    const { definition, subresource, namespace, name } = found;
    const { group, version, resource } = definition;
    return { kind: 'resource', verb, group, version, resource, subresource: subresource?.name ?? '', namespace, name };
  }
  const asked = requestAttributes(method, path, query);
  return asked.kind === 'path' ? { ...asked, path } : asked;
}
