import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatTime } from '@gantry/base';
import type { TokenRequest } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { startNode, type TestNode } from '../testing/start-node.ts';

const LIFE_SECONDS = 600;

it('a token in a volume is replaced at four fifths of its life, and kept until then', async () => {
  let issued = 0;
  const node: TestNode = await startNode({
    wrapClient: (client) =>
      new Proxy(client, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name);
          if (name !== 'createSubresource') return typeof value === 'function' ? value.bind(target) : value;
          return async (_resource: unknown, _target: unknown, { spec }: TokenRequest): Promise<TokenRequest> => {
            issued += 1;
            const life = (spec?.expirationSeconds ?? 0) * 1000;
            const expirationTimestamp = formatTime(node.clock.now() + life);
            return {
              apiVersion: 'authentication.k8s.io/v1',
              kind: 'TokenRequest',
              metadata: {},
              spec: spec ?? { audiences: [] },
              status: { token: `token ${issued}`, expirationTimestamp },
            };
          };
        },
      }),
  });
  const token = { serviceAccountToken: { path: 'token', expirationSeconds: LIFE_SECONDS } };
  const main = container('main', { volumeMounts: [{ name: 'tokens', mountPath: '/tokens' }] });
  const volumes = [{ name: 'tokens', projected: { sources: [token] } }];
  const object = await node.put(pod({ containers: [main], volumes }));
  await node.volumes.prepare();
  /** The token in the volume, which a worker brings up to date each minute. */
  const shown = async () => {
    await node.volumes.sync(object, '10.0.0.1', node.stop.signal);
    const names = await readdir(node.path, { recursive: true });
    const path = names.find((name) => name.endsWith('/..data/token') || name.endsWith('/token')) ?? '';
    return await readFile(join(node.path, path), 'utf8');
  };
  expect(await shown()).toBe('token 1');
  await node.clock.advance((LIFE_SECONDS * 0.8 - 1) * 1000);
  expect(await shown()).toBe('token 1');
  await node.clock.advance(1000);
  expect(await shown()).toBe('token 2');
  expect(await shown()).toBe('token 2');
});
