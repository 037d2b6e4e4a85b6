import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PODS } from '@gantry/objects';
import { expect, it, onTestFinished } from 'vitest';
import type { ContainerSpec } from '../runtime/containers.ts';
import { container, pod } from '../testing/pods.ts';
import { soon, startNode } from '../testing/start-node.ts';
import { SeccompProfiles } from './seccomp-profiles.ts';

const PROFILE = '{"defaultAction":"SCMP_ACT_ALLOW"}';

async function folder(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'seccomp-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  const profiles = join(parent, 'profiles');
  await mkdir(join(profiles, 'team'), { recursive: true });
  await writeFile(join(parent, 'secret.json'), PROFILE);
  await writeFile(join(profiles, 'team', 'strict.json'), PROFILE);
  await writeFile(join(profiles, 'text'), 'not json');
  await writeFile(join(profiles, 'large'), ' '.repeat(2 ** 20 + 1));
  await promisify(execFile)('mkfifo', [join(profiles, 'pipe')]);
  await symlink('team/strict.json', join(profiles, 'inside'));
  await symlink('../secret.json', join(profiles, 'outside'));
  return profiles;
}

it.each(['team/strict.json', 'inside', './team/strict.json'])(
  'a profile is read by its path in the folder: %s',
  async (name) => {
    expect(await new SeccompProfiles(await folder()).read(name)).toBe(PROFILE);
  },
);

it.each([
  { name: 'none.json', reason: 'no such file' },
  { name: '', reason: 'not a path in the folder' },
  { name: '../secret.json', reason: 'not a path in the folder' },
  { name: 'team/../../secret.json', reason: 'not a path in the folder' },
  { name: '/etc/passwd', reason: 'not a path in the folder' },
  { name: 'outside', reason: 'not a path in the folder' },
  { name: 'team', reason: 'not a file' },
  { name: 'pipe', reason: 'not a file' },
  { name: 'text', reason: 'is not valid JSON' },
  { name: 'large', reason: 'larger than 1048576 bytes' },
])('a container with the profile $name is not created: $reason', async ({ name, reason }) => {
  await expect(new SeccompProfiles(await folder()).read(name)).rejects.toMatchObject({
    code: 'CreateContainerError',
    message: expect.stringMatching(
      new RegExp(`^cannot load seccomp profile ${JSON.stringify(name)}: .*${reason}`),
    ) as string,
  });
});

it('a node without the folder has no profiles', async () => {
  await expect(new SeccompProfiles('/nonexistent').read('a.json')).rejects.toThrow('no such file');
});

it('a container runs with the profile of the node that it names, and waits with a reason for one that is not there', async () => {
  const started: ContainerSpec[] = [];
  const node = await startNode({ behaviour: { exitAfter: (spec) => void started.push(spec) } });
  await mkdir(join(node.path, 'seccomp'));
  await writeFile(join(node.path, 'seccomp', 'strict.json'), PROFILE);
  const of = (name: string, localhostProfile: string) =>
    container(name, { securityContext: { seccompProfile: { type: 'Localhost', localhostProfile } } });
  const { metadata } = await node.put(pod({ containers: [of('good', 'strict.json'), of('bad', 'none.json')] }));
  const { uid = '' } = metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  const waiting = () =>
    node.client.all(PODS)[0]?.status?.containerStatuses?.find(({ name }) => name === 'bad')?.state?.waiting;
  await soon(node, () => waiting()?.reason).toBe('CreateContainerError');
  expect(waiting()?.message).toBe('cannot load seccomp profile "none.json": no such file');
  expect(started.map(({ name, security }) => [name, security.seccomp])).toEqual([['good', { profile: PROFILE }]]);
});
