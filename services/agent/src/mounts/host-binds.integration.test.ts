import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { linuxMounts } from './linux-mounts.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
/** The rights of an agent that host paths need. */
const RIGHTS = ['SYS_ADMIN', 'SYS_PTRACE', 'SYS_CHROOT', 'DAC_OVERRIDE', 'FOWNER'];
const run = promisify(execFile);

describe('a part of a folder of the host', () => {
  let name: string;
  let state: string;
  let folder: string;
  beforeEach(async () => {
    name = `gantry-binds-${randomBytes(4).toString('hex')}`;
    await run('docker', ['volume', 'create', name]);
    const { stdout } = await run('docker', ['volume', 'inspect', '--format', '{{.Mountpoint}}', name]);
    state = stdout.trim();
    folder = await mkdtemp(join(tmpdir(), 'gantry-binds-'));
    await mkdir(join(folder, 'volume'));
    await mkdir(join(folder, 'volume', 'part'));
    await writeFile(join(folder, 'volume', 'file'), 'of the host');
  });
  afterEach(async () => {
    await linuxMounts().remove(state);
    await run('docker', ['volume', 'rm', name]);
    await rm(folder, { recursive: true });
  });

  /** Returns the output of one step of the exercise in an agent's container. */
  const exercise = async (step: string, rights = RIGHTS, options = ['--pid=host']) => {
    const node = process.execPath;
    const args = [
      ...['run', '--rm', '--label=gantry.test=binds', '--network=none', '--read-only', '--cap-drop=ALL', ...options],
      ...rights.map((right) => `--cap-add=${right}`),
      ...['--security-opt=no-new-privileges:true', '--security-opt=apparmor=unconfined'],
      `--mount=type=bind,source=${state},target=/state,bind-propagation=rshared`,
      ...[`--volume=${ROOT}:${ROOT}:ro`, `--volume=${node}:${node}:ro`],
      ...['debian:trixie-slim', node, '--conditions=gantry-source'],
      ...[`${ROOT}/services/agent/src/mounts/testing/exercise-host.ts`, step, '/state', state, folder],
    ];
    return await run('docker', args).catch((error: { readonly code: number; readonly stderr: string }) => error);
  };
  const mountsOfHost = async () => (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  const leftOver = async () => (await mountsOfHost()).filter((line) => line.includes(`${state}/`));

  it('is bound by an agent in a container, where the engine finds it, and released again', async () => {
    expect(await exercise('bindsBoth')).toEqual({ stdout: '', stderr: '' });
    expect(await leftOver()).toEqual([]);
    expect(await readFile(join(folder, 'volume', 'new', 'part', 'written'), 'utf8')).toBe('here');
  });

  it('never leads out of its volume, whenever who may write to it exchanges a folder and a link', async () => {
    expect(await exercise('staysInVolume')).toEqual({ stdout: '', stderr: '' });
    expect(await leftOver()).toEqual([]);
    expect(await readdir(join(folder, 'outside', 'part'))).toEqual(['whose']);
  });

  it('that an agent had bound when it was killed is released by its successor', async () => {
    expect(await exercise('bindAndLeave')).toMatchObject({ code: 137 });
    expect(await leftOver()).toHaveLength(1);
    expect(await exercise('clean')).toEqual({ stdout: '', stderr: '' });
    expect(await leftOver()).toEqual([]);
    expect(await readFile(join(folder, 'volume', 'file'), 'utf8')).toBe('of the host');
  });

  describe('below a shared mount, as the root of most hosts is one', () => {
    const late = () => join(folder, 'volume', 'part', 'late');
    const mountPoints = async () => (await mountsOfHost()).map((line) => line.split(' ')[4]);
    beforeEach(async () => {
      await run('mount', ['-t', 'tmpfs', '--make-shared', 'tmpfs', join(folder, 'volume')]);
      await mkdir(late(), { recursive: true });
    });
    afterEach(() => run('umount', ['--recursive', join(folder, 'volume')]));

    it.each([
      { step: 'bindAndLeave', bound: 1, says: 'does not show' },
      { step: 'bindFromHostAndLeave', bound: 2, says: 'shows' },
    ])('$says what the host mounts later after $step, and does not take it away', async ({ step, bound }) => {
      expect(await exercise(step)).toMatchObject({ code: 137 });
      await run('mount', ['-t', 'tmpfs', 'tmpfs', late()]);
      expect(await leftOver()).toHaveLength(bound);
      expect(await exercise('clean')).toEqual({ stdout: '', stderr: '' });
      expect(await leftOver()).toEqual([]);
      expect(await mountPoints()).toContain(late());
    });
  });

  it.each([
    [
      'may not enter its namespace',
      RIGHTS.filter((right) => right !== 'SYS_CHROOT'),
      ['--pid=host'],
      'a part of what lies on the host (subPath of hostPath or local) cannot be mounted by this node: mount: failed to set',
    ],
    ['does not see its processes', RIGHTS, [], 'this agent does not see its processes (pid: host)'],
  ])('is refused with the reason where the agent %s', async (_, rights, options, reason) => {
    const { stderr } = await exercise('isRefused', rights, options);
    expect(stderr).toContain(reason);
    expect(await leftOver()).toEqual([]);
  });
});
