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
const SERVICES = { proxy: { ...SETTINGS, tmpfs: ['/run'] }, 'pod-egress': SETTINGS };
const RIGHTS =
  '--rm --network host --read-only --cap-drop ALL --security-opt no-new-privileges:true --cap-add NET_ADMIN';

/** A machine with these images and no container; `commands` are what was run, from the verb of Compose on. */
function machine(images: readonly string[], refusal = 'Error response from daemon: No such image: gantry:1') {
  const commands: string[] = [];
  const shell: Shell = {
    run: (_program, args) => {
      const command = args.join(' ').replace(/^compose .* --progress plain /, '');
      commands.push(command);
      const missing = args[0] === 'image' && !images.includes(args.at(-1) ?? '');
      const outputs = { config: JSON.stringify({ services: SERVICES }), 'volume ls': 'gantry-a_agent-state' };
      const stdout = Object.entries(outputs).find(([begin]) => command.startsWith(begin))?.[1] ?? '';
      return Promise.resolve({ code: missing ? 1 : 0, stdout, stderr: missing ? refusal : '' });
    },
  };
  return { project: openProject(CONFIG, 'gantry-a', shell), commands };
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
  const { project } = machine([], 'Cannot connect to the Docker daemon');
  await expect(project[remove](() => undefined)).rejects.toThrow('Cannot connect');
});

test('what agents have mounted is unmounted with a limit for each, also where it is forced', async () => {
  const { project, commands } = machine([]);
  await project.cleanHost();
  const unmounts = commands.at(-1)?.match(/.*\bumount\b.*/g) ?? [];
  expect(unmounts).toHaveLength(2);
  for (const line of unmounts) expect(line).toMatch(/^ *timeout --signal=KILL 60 umount /);
});

test.each(['', 'memory'])(
  'control groups of its own pods are removed, and fails where one is in use: %s',
  async (hierarchy) => {
    const folder = await mkdtemp(join(tmpdir(), 'groups-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { project, commands } = machine([]);
    await project.cleanHost();
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
