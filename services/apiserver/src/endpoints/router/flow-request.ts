import type { User } from '../../auth/user.ts';
import type { FlowRequest } from '../../flow-control/flow-schemas.ts';
import type { Exchange } from '../../http/exchange.ts';
import { parseBoolean } from '../../http/query.ts';
import { requestAttributes } from '../request-attributes.ts';
import { type Route, verbOf } from '../request-info.ts';

/** Subresources that last: flow control does not count them, as in Kubernetes. */
const LASTING: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/**
 * A request as flow schemas see it, by the form of its path where it is not for a resource of this server; undefined for one that
 * lasts and is no watch. `remote` requests go to an extension server.
 */
export function flowRequestOf(
  user: User,
  { method, path, query }: Pick<Exchange, 'method' | 'path' | 'query'>,
  found: Route,
  remote: 'remote' | 'local',
): FlowRequest | undefined {
  const isOwn = remote === 'local' && found.kind === 'resource';
  const verb = isOwn ? verbOf(found, method, parseBoolean(query, 'watch') ?? false) : undefined;
  if (!isOwn || verb === undefined) {
    const asked = requestAttributes(method, path, query);
    if (asked.kind === 'path') return { kind: 'path', user, verb: asked.verb, path };
    return LASTING.has(asked.subresource) ? undefined : { ...asked, user };
  }
  const { definition, subresource, namespace } = found;
  if (subresource !== undefined && LASTING.has(subresource.name)) return undefined;
  return {
    kind: 'resource',
    user,
    verb,
    group: definition.group,
    resource: definition.resource,
    subresource: subresource?.name ?? '',
    namespace,
  };
}
