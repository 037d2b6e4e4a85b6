import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEPLOYMENTS, isReason, PODS, SECRETS } from '@gantry/objects';
import { expect, onTestFinished, test } from 'vitest';
import { Cluster, isReady, nginxDeployment } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();

async function snapshot(...args: readonly string[]) {
  const options = { env: { GANTRY_HOME: cluster.home }, timeoutMs: 300_000 };
  return await runProgram(`${cluster.root}/deploy/bin/snapshot`, args, options);
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'snapshot-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Ids of the running containers of a pod. */
async function containersOf(uid: string): Promise<readonly string[]> {
  return await cluster.podContainers([`label=io.kubernetes.pod.uid=${uid}`]);
}

test('a cluster that is restored runs what it ran then, and nothing else', { timeout: 600_000 }, async () => {
  await using namespace = await cluster.namespace();
  const { name } = namespace;
  const file = join(await folder(), 'state.snapshot');
  const signal = AbortSignal.timeout(500_000);
  const data = { key: Buffer.from('kept').toString('base64') };
  await cluster.create(SECRETS, name, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'old' }, data });
  await cluster.create(DEPLOYMENTS, name, nginxDeployment('old', 1));
  await cluster.untilRolledOut(name, 'old');
  const [old] = await cluster.pods(name);
  const saved = await snapshot('save', file);
  expect(saved.code, saved.stderr).toBe(0);

  await cluster.mustKubectl(['-n', name, 'delete', 'deployment/old', 'secret/old', '--cascade=foreground', '--wait']);
  await eventually('its pod is gone', 120_000, async () => (await cluster.pods(name)).length === 0);
  await cluster.create(DEPLOYMENTS, name, nginxDeployment('new', 1));
  await cluster.untilRolledOut(name, 'new');
  const [later] = await cluster.pods(name);
  const { resourceVersion } = await cluster.api.list(PODS, { namespace: name }, signal);

  const restored = await snapshot('restore', file);
  expect(restored.code, restored.stderr).toBe(0);

  expect((await cluster.list(DEPLOYMENTS, name)).map(({ metadata }) => metadata.name)).toEqual(['old']);
  expect((await cluster.get(SECRETS, name, 'old')).data).toEqual(data);
  // The pod of then runs again, with a container: its agent was never restarted.
  await eventually('the pod of then runs', 120_000, async () => {
    const pods = await cluster.pods(name);
    expect(pods.map(({ metadata }) => metadata.uid)).toEqual([old?.metadata.uid]);
    expect(pods.every(isReady)).toBe(true);
    expect(await containersOf(old?.metadata.uid ?? '')).not.toEqual([]);
    return true;
  });
  await eventually('the containers of the later pod are gone', 120_000, async () => {
    return (await containersOf(later?.metadata.uid ?? '')).length === 0;
  });
  // A client of the other history lists again.
  const watch = async () => {
    for await (const _ of cluster.api.watch(PODS, { namespace: name, resourceVersion }, signal));
  };
  await expect(watch()).rejects.toSatisfy((error) => isReason(error, 'Expired'));
  // Controllers and scheduler go on.
  await cluster.mustKubectl(['-n', name, 'scale', 'deployment/old', '--replicas=2']);
  await cluster.untilRolledOut(name, 'old');
});

test('a scheduled snapshot is taken at the first start, and can be checked', { timeout: 300_000 }, async () => {
  const path = await folder();
  const [apiserver = ''] = (await cluster.containers('apiserver')).map(({ id }) => id);
  const scheduled = '/var/lib/gantry/snapshots';
  const names = (await cluster.docker(['exec', apiserver, 'ls', scheduled])).split('\n').filter((name) => name !== '');
  expect(names).toEqual([expect.stringMatching(/^scheduled-\d{4}-.*Z\.snapshot$/)]);
  await cluster.docker(['cp', `${apiserver}:${scheduled}/${names[0]}`, join(path, 'copy')]);
  const { code, stdout, stderr } = await snapshot('check', join(path, 'copy'));
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('keys: left-out');
});

test('a file that is damaged, or of another cluster, is refused before anything stops', {
  timeout: 300_000,
}, async () => {
  const path = await folder();
  const file = join(path, 'state.snapshot');
  const started = async () =>
    await Promise.all(
      (await cluster.containers()).map(({ id }) => cluster.docker(['inspect', '-f', '{{.State.StartedAt}}', id])),
    );
  const before = await started();
  const saved = await snapshot('save', file, '--without-keys');
  expect(saved.code, saved.stderr).toBe(0);

  const bytes = readFileSync(file);
  await writeFile(join(path, 'cut'), bytes.subarray(0, bytes.length / 2));
  const start = bytes.indexOf('etcd.db') + 64 * 1024;
  const changed = Buffer.from(bytes);
  changed.fill(0x55, start, start + 4096);
  await writeFile(join(path, 'changed'), changed);
  const other = Buffer.from(
    bytes
      .toString('latin1')
      .replaceAll(`"clusterId": "${cluster.clusterId}"`, `"clusterId": "${'x'.repeat(cluster.clusterId.length)}"`),
    'latin1',
  );
  await writeFile(join(path, 'other'), other);
  for (const [name, message] of [
    ['cut', 'is no snapshot of a cluster'],
    ['changed', 'sha256'],
    ['other', 'is a snapshot of the cluster xxx'],
    ['absent', 'there is no file'],
  ] as const) {
    const { code, stderr } = await snapshot('restore', join(path, name));
    expect([name, code]).toEqual([name, 1]);
    expect(stderr).toContain(message);
  }
  expect(await started()).toEqual(before);
});
