import { CONFIG_MAPS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();
/** A change of the members replaces all services that use etcd, one after the other, each for as long as it may take to be ready. */
const COMMAND_MS = 600_000;

async function command(name: 'etcd' | 'status', ...args: readonly string[]) {
  const options = { env: { GANTRY_HOME: cluster.home }, timeoutMs: COMMAND_MS };
  return await runProgram(`${cluster.root}/deploy/bin/${name}`, args, options);
}

test('a member whose data is lost is named, and replaced by one command while writes go on', {
  timeout: 600_000,
}, async () => {
  await using namespace = await cluster.namespace();
  const create = (name: string) =>
    cluster.create(CONFIG_MAPS, namespace.name, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
  const [lost] = await cluster.containers('etcd-2');
  const image = await cluster.serviceImage();
  await cluster.docker(['kill', lost?.id ?? '']);
  const volume = `${cluster.clusterId}_etcd-2:/data`;
  await cluster.docker([
    'run',
    '--rm',
    '--user',
    '0',
    '--network',
    'none',
    '-v',
    volume,
    image,
    'rm',
    '-r',
    '/data/member',
  ]);
  await cluster.docker(['start', lost?.id ?? '']);
  await eventually('the member is named', 120_000, async () => {
    const { stdout } = await command('status');
    return stdout.includes('etcd-2 keeps restarting') && stdout.includes('npm run etcd -- replace etcd-2');
  });
  await create('without-it');

  const refused = await command('etcd', 'replace', 'etcd-1');
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('etcd-1 cannot be replaced: without it 1 of 3'),
  ]);
  const replaced = await command('etcd', 'replace', 'etcd-2');
  expect(replaced.code, replaced.stderr).toBe(0);

  const shown = await command('etcd', 'status');
  expect(shown.stdout.match(/https:\/\/etcd-\d:2379/g)).toHaveLength(3);
  expect(shown.stdout).not.toContain('does not serve requests');
  // It holds the quorum in place of another one.
  const [other] = await cluster.containers('etcd-0');
  await cluster.docker(['stop', other?.id ?? '']);
  // Each attempt has a name of its own: one that got no answer may have been written.
  let attempt = 0;
  await eventually('a write is accepted', 120_000, () => create(`with-it-${++attempt}`));
  await cluster.docker(['start', other?.id ?? '']);
  // The container runs before its etcd serves requests, without which no member is added.
  await eventually('all members serve requests', 120_000, async () => {
    const { code, stdout } = await command('etcd', 'status');
    return code === 0 && !stdout.includes('does not serve requests');
  });
});

test('a member is added and removed again while writes go on', { timeout: 1_500_000 }, async () => {
  await using namespace = await cluster.namespace();
  const stop = new AbortController();
  const acknowledged: string[] = [];
  const writing = (async () => {
    // Each attempt has a name of its own: one that got no answer may have been written.
    for (let attempt = 0; !stop.signal.aborted; attempt++) {
      const name = `written-${attempt}`;
      const { code } = await cluster.kubectl(['create', 'configmap', name, '-n', namespace.name]);
      if (code === 0) acknowledged.push(name);
    }
  })();
  try {
    for (const [args, members] of [
      [['add'], 4],
      [['remove', 'etcd-3'], 3],
      // As after one that ended early.
      [['remove', 'etcd-3'], 3],
    ] as const) {
      const before = acknowledged.length;
      const changed = await command('etcd', ...args);
      expect(changed.code, changed.stderr).toBe(0);
      expect(acknowledged.length).toBeGreaterThan(before);
      const { stdout } = await command('etcd', 'status');
      expect(stdout.match(/https:\/\/etcd-\d:2379/g)).toHaveLength(members);
      const [apiserver] = await cluster.containers('apiserver');
      const environment = await cluster.docker(['inspect', '-f', '{{json .Config.Env}}', apiserver?.id ?? '']);
      expect(environment.includes('https://etcd-3:2379')).toBe(members === 4);
    }
  } finally {
    stop.abort();
    await writing;
  }
  const stored = (await cluster.list(CONFIG_MAPS, namespace.name)).map(({ metadata }) => metadata.name);
  expect(stored).toEqual(expect.arrayContaining(acknowledged));
});

test('etcdctl in a container of a member reads everything and writes nothing', async () => {
  const [member] = await cluster.containers('etcd-1');
  // The test before has stopped another member, and a busy machine takes longer than etcdctl's 5 s.
  const patient = ['etcdctl', '--dial-timeout=60s', '--command-timeout=60s'];
  const etcdctl = (...args: readonly string[]) => runProgram('docker', ['exec', member?.id ?? '', ...patient, ...args]);
  const read = await etcdctl('get', '--prefix', '--keys-only', '/gantry/elections/');
  expect(read.stdout.split('\n')).toContain('/gantry/elections/kube-scheduler');
  expect((await etcdctl('put', '/gantry/elections/kube-scheduler', 'me')).stderr).toContain('permission denied');
  expect((await etcdctl('del', '/gantry/incarnation')).stderr).toContain('permission denied');
});
