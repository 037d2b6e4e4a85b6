import { API_SERVERS, StatusError } from '@gantry/objects';
import type { GrpcCall } from '@gantry/service';

/** StatusError 'Forbidden' unless an API server calls. `what` is what others may not do: `read logs`. */
export function requireApiServer(call: GrpcCall, resource: 'pods' | 'nodes', name: string, what: string): void {
  if (call.identity?.organizations.includes(API_SERVERS) === true) return;
  throw StatusError.forbidden({ group: '', resource }, name, `only API servers may ${what} here`);
}
