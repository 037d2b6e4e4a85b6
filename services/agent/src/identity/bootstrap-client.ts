import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Random } from '@gantry/base';
import { createHttpClient } from '@gantry/client';
import type { Requester } from './node-certificate.ts';

const REST_PORT = 6443;

/** A client for an agent without a certificate: REST with the bootstrap token, which is read each time, since it rotates. */
export function bootstrapRequester(
  folder: string,
  apiservers: readonly string[],
  clock: Clock,
  random: Random,
): Requester {
  return async () => {
    const [token, ca] = await Promise.all([readFile(join(folder, 'token'), 'utf8'), readFile(join(folder, 'ca.crt'))]);
    const address = apiservers[Math.floor(random() * apiservers.length)] ?? '';
    const host = address.replace(/:\d+$/, '');
    return createHttpClient({
      server: `https://${host}:${REST_PORT}`,
      ca,
      token: token.trim(),
      fieldManager: 'kubelet',
      clock,
    });
  };
}
