import { parseBoolean } from '../../http/query.ts';
import { type ResourceRoute, type Route, verbOf } from '../request-info.ts';

/** Whether a request goes on until its client or the server ends it: a watch, a stream, a proxy, or a log that is followed. */
export function isLasting(found: Route, method: string, query: URLSearchParams): boolean {
  if (found.kind !== 'resource') return false;
  if (isLog(found)) return parseBoolean(query, 'follow') === true;
  return isStream(found) || verbOf(found, method, parseBoolean(query, 'watch') ?? false) === 'watch';
}

/** Whether the route is that of a log. As in Kubernetes it has no time limit, followed or not: one that is cut off looks complete. */
export function isLog(found: Route): boolean {
  return found.kind === 'resource' && found.subresource?.name === 'log';
}

/** Whether the route is that of a stream or of a proxy. */
export function isStream(found: Route): boolean {
  if (found.kind !== 'resource' || found.subresource === undefined) return false;
  return found.subresource.name === 'proxy' || isStreamOfPod(found);
}

/** Whether the route is exec, attach or portforward. */
export function isStreamOfPod({ definition, subresource }: ResourceRoute): boolean {
  const isOfPod = definition.group === '' && definition.resource === 'pods';
  return isOfPod && ['attach', 'exec', 'portforward'].includes(subresource?.name ?? '');
}
