import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { TokenIssuer } from '../testing/issue-tokens.ts';
import { container, pod } from '../testing/pods.ts';
import { startNode, type TestNode } from '../testing/start-node.ts';

const LIFE_SECONDS = 600;

it('a token in a volume is replaced at four fifths of its life, and kept until then', async () => {
  const tokens = new TokenIssuer();
  const node: TestNode = await startNode({ wrapClient: (client) => tokens.wrap(client, () => node.clock) });
  const token = { serviceAccountToken: { path: 'token', expirationSeconds: LIFE_SECONDS } };
  const main = container('main', { volumeMounts: [{ name: 'tokens', mountPath: '/tokens' }] });
  const volumes = [{ name: 'tokens', projected: { sources: [token] } }];
  const object = await node.put(pod({ containers: [main], volumes }));
  await node.volumes.prepare();
  /** Returns the token in the volume. A worker updates it every minute. */
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
