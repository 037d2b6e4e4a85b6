import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Shell } from '../machine/shell.ts';
import { countsOf, openProject } from './compose.ts';

const CONFIG = { root: '/checkout', home: '/home', homeKind: 'checkout', overlays: [] } as const;

/** What Compose says of each service, shortened. */
const SETTINGS = { image: 'gantry:1', environment: { GANTRY_CLUSTER_ID: 'gantry-a' }, cap_add: ['NET_ADMIN'] };
const SERVICES = { proxy: { ...SETTINGS, tmpfs: ['/run'] }, 'pod-egress': SETTINGS, agent: SETTINGS };
const RIGHTS =
  '--rm --network host --read-only --cap-drop ALL --security-opt no-new-privileges:true --cap-add NET_ADMIN';

interface Engine {
  readonly refusal?: string;
  /** Of containers of the cluster: ids and names of images. */
  readonly containers?: string;
  /** Ids of images that have a name. */
  readonly named?: string;
}

/** A machine with these images; `commands` are what was run, from the verb of Compose on, and `variables` what the last one was given. */
function machine(
  images: readonly string[],
  { refusal = 'Error response from daemon: No such image: gantry:1', containers = '', named = '' }: Engine = {},
) {
  const commands: string[] = [];
  const variables: Record<string, string> = {};
  const shell: Shell = {
    run: (_program, args, { env = {} } = {}) => {
      const command = args.join(' ').replace(/^compose .* --progress plain /, '');
      commands.push(command);
      Object.assign(variables, env);
      const missing = command.startsWith('image inspect') && !images.includes(args.at(-1) ?? '');
      const outputs = {
        config: JSON.stringify({ services: SERVICES }),
        'volume ls': 'gantry-a_agent-state',
        ps: containers === '' ? '' : 'c1\nc2\n',
        inspect: containers,
        'image ls': named,
      };
      const stdout = Object.entries(outputs).find(([begin]) => command.startsWith(begin))?.[1] ?? '';
      return Promise.resolve({ code: missing ? 1 : 0, stdout, stderr: missing ? refusal : '' });
    },
  };
  return { project: openProject(CONFIG, 'gantry-a', shell), commands, variables };
}

test.each([
  ['removeProxy', `run ${RIGHTS} --tmpfs /run -e GANTRY_CLUSTER_ID=gantry-a gantry:1 node lib/proxy.mjs remove ports`],
  ['removePodEgress', `run ${RIGHTS} -e GANTRY_CLUSTER_ID=gantry-a gantry:1 pod-egress remove`],
] as const)('%s removes the rules of a service that has no container any more', async (remove, command) => {
  const { project, commands } = machine(['gantry:1']);
  await project[remove](() => undefined);
  expect(commands.at(-1)).toBe(command);
});

test.each(['removeProxy', 'removePodEgress'] as const)('%s does not build or fetch an image', async (remove) => {
  const { project, commands } = machine([]);
  const lines: string[] = [];
  await project[remove]((line) => lines.push(line));
  expect(commands.filter((command) => command.startsWith('run'))).toEqual([]);
  expect(lines).toEqual(['the image gantry:1 is gone: rules of the host, if there are any, stay']);
});

test.each(['removeProxy', 'removePodEgress'] as const)('%s fails where the engine does not answer', async (remove) => {
  const { project } = machine([], { refusal: 'Cannot connect to the Docker daemon' });
  await expect(project[remove](() => undefined)).rejects.toThrow('Cannot connect');
});

const CONTAINERS = 'sha256:etcd quay.io/coreos/etcd:v3.5.30\nsha256:old gantry:1\n';

test.each([
  ['the wanted one', ['gantry:1', 'sha256:old', 'sha256:other'], 'gantry:1'],
  ['that of a container of the cluster, whose name is gone', ['sha256:old', 'sha256:other'], 'sha256:old'],
  ['one of another checkout', ['sha256:etcd', 'sha256:other'], 'sha256:other'],
])('what an agent leaves on the host is removed by an image that is there: %s', async (_, images, used) => {
  const { project, commands, variables } = machine(images, { containers: CONTAINERS, named: 'sha256:other\n' });
  const lines: string[] = [];
  await project.cleanHost((line) => lines.push(line));
  expect(commands.at(-1)).toMatch(/^run --rm --no-deps -T agent sh -c /);
  expect(variables).toMatchObject({ GANTRY_IMAGE: used });
  await project.removeProxy((line) => lines.push(line));
  expect(commands.at(-1)).toContain(` ${used} node lib/proxy.mjs remove ports`);
  expect(lines).toEqual([]);
});

test('what an agent leaves on the host stays where no image is there, and none is built', async () => {
  const { project, commands } = machine([]);
  const lines: string[] = [];
  await project.cleanHost((line) => lines.push(line));
  expect(commands.filter((command) => command.startsWith('run'))).toEqual([]);
  expect(lines).toEqual(['the image gantry:1 is gone: what agents have mounted, if there is anything, stays']);
});

test('what agents have mounted is unmounted with a limit for each, also where it is forced', async () => {
  const { project, commands } = machine(['gantry:1']);
  await project.cleanHost(() => undefined);
  const unmounts = commands.at(-1)?.match(/.*\bumount\b.*/g) ?? [];
  expect(unmounts).toHaveLength(2);
  for (const line of unmounts) expect(line).toMatch(/^ *timeout --signal=KILL 60 umount /);
});

test.each(['', 'memory'])(
  'control groups of its own pods are removed, and fails where one is in use: %s',
  async (hierarchy) => {
    const folder = await mkdtemp(join(tmpdir(), 'groups-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { project, commands } = machine(['gantry:1']);
    await project.cleanHost(() => undefined);
    const script = commands.at(-1)?.replace(/^.*?(?=for parent)/s, '') ?? '';
    const env = { PATH: process.env['PATH'], GANTRY_CGROUP_DIR: folder, GANTRY_CLUSTER_ID: 'gantry-a' };
    const parent = join(folder, hierarchy, 'docker');
    const kept = [`gantry-ab-${'0'.repeat(12)}-podu`, `gantry-a-b-${'0'.repeat(12)}-podu`, 'gantry-a-podu'];
    const own = `gantry-a-${'0'.repeat(12)}-podu`;
    for (const name of [...kept, own]) await mkdir(join(parent, name), { recursive: true });
    await mkdir(join(parent, own, 'container'));
    const run = () => spawnSync('sh', ['-c', script], { env }).status;
    expect(run()).toBe(1);
    await rm(join(parent, own, 'container'), { recursive: true });
    expect([run(), run()]).toEqual([0, 0]);
    expect((await readdir(parent)).toSorted()).toEqual(kept.toSorted());
  },
);

test('a container and its successor count as one replica, and a model as none', () => {
  const container = (name: string, state: string) => ({ name, state, service: 'agent', health: '', image: 'gantry:1' });
  const containers = [
    container('gantry-a-agent-1', 'running'),
    container('gantry-a-agent-2', 'exited'),
    container('0123456789ab_gantry-a-agent-2', 'running'),
    container('gantry-a-agent-model', 'created'),
  ];
  expect(countsOf(containers)).toEqual(new Map([['agent', 2]]));
});
