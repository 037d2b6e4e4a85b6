import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Random } from '@gantry/base';
import { createHttpClient } from '@gantry/client';
import type { Requester } from './node-certificate.ts';
import { API_SERVERS, StatusError } from '@gantry/objects';
import type { GrpcCall } from '@gantry/service';

/** The location of the bootstrap token, and the API servers to use it with. */
export interface BootstrapSettings {
  readonly bootstrapDir: string;
  readonly apiservers: readonly string[];
  readonly restPort: number;
}

/** Creates REST clients for an agent without a certificate. The bootstrap token is read each time, because it rotates. */
export function bootstrapRequester(
  { bootstrapDir: folder, apiservers, restPort }: BootstrapSettings,
  clock: Clock,
  random: Random,
): Requester {
  return async () => {
    const [token, ca] = await Promise.all([readFile(join(folder, 'token'), 'utf8'), readFile(join(folder, 'ca.crt'))]);
    const address = apiservers[Math.floor(random() * apiservers.length)] ?? '';
    const host = address.replace(/:\d+$/, '');
    return createHttpClient({
      server: `https://${host}:${restPort}`,
      ca,
      token: token.trim(),
      fieldManager: 'kubelet',
      clock,
    });
  };
}

/** StatusError 'Forbidden' unless the caller is an API server. `what` completes the message, such as `read logs`. */
export function requireApiServer(call: GrpcCall, resource: 'pods' | 'nodes', name: string, what: string): void {
  if (call.identity?.organizations.includes(API_SERVERS) === true) return;
  throw StatusError.forbidden({ group: '', resource }, name, `only API servers may ${what} here`);
}
