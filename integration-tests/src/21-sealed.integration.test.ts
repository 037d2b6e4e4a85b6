import { type KubeObject, SECRETS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { currentRevision, recordHistory } from './harness/etcd-console.ts';
import { eventually } from './harness/eventually.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();
const MARKER = 'a-marker-that-must-stay-sealed';

/** Runs `npm run reseal` and returns its lines. */
async function reseal(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(`${cluster.root}/deploy/bin/reseal`, args, {
    env: { GANTRY_HOME: cluster.home },
    timeoutMs: 120_000,
  });
  expect(code, stderr).toBe(0);
  return stdout;
}

test('Secrets cannot be read in etcd or in logs, and outlive their keys', async () => {
  await using namespace = await cluster.namespace();
  const signal = AbortSignal.timeout(540_000);
  const key = { namespace: namespace.name, name: 'sealed' };
  const secret: KubeObject & { data: Record<string, string> } = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...key, annotations: { note: MARKER } },
    data: { key: Buffer.from(MARKER).toString('base64') },
  };
  const from = await currentRevision(cluster);
  await using history = await recordHistory(cluster, from + 1);
  await cluster.api.create(SECRETS, secret, signal);
  const rotated = await reseal('--rotate');
  expect(rotated).toContain('a key was added');
  expect(await reseal()).toContain('"rewritten":0');
  await cluster.api.patch(SECRETS, key, { merge: { metadata: { labels: { changed: 'yes' } } } }, signal);
  expect(await reseal('--forget')).toContain('older keys were removed');
  // Each apiserver has opened it anew: none has the older key any more.
  await cluster.compose(['restart', 'apiserver']);
  const read = await eventually('the Secret is read again', 120_000, () => cluster.api.get(SECRETS, key, signal));
  expect(read.data).toEqual(secret.data);
  const events = (await history.until(await currentRevision(cluster))).filter((event) =>
    event.key.endsWith(`/${namespace.name}/sealed`),
  );
  // Created, sealed with the new key, labelled.
  expect(events.filter(({ type }) => type === 'put')).toHaveLength(3);
  const texts = [MARKER, secret.data['key'] ?? ''];
  for (const event of events) {
    const value = event.type === 'put' ? Buffer.from(event.value, 'base64') : Buffer.alloc(0);
    for (const text of texts) expect(value.includes(text)).toBe(false);
  }
  for (const { id } of await cluster.containers()) {
    const log = await cluster.docker(['logs', id]);
    for (const text of texts) expect(log).not.toContain(text);
  }
}, 600_000);
