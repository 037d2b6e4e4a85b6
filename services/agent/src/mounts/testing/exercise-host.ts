/**
 * Binds parts of a folder of the engine's host, like an agent in a container. Arguments: the step, the state folder here and on the host,
 * and the host's folder. Run it in a container with an agent's rights.
 */
import { deepEqual, equal, match, rejects } from 'node:assert/strict';
import { execSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BindSource } from '../../runtime/host-mounts.ts';
import { hostMountNamespace, hostNetwork, hostRoot, linuxHostFiles } from '../linux-host-files.ts';
import { linuxMounts } from '../linux-mounts.ts';
import { openBeneath, openOwned } from '../open-path.ts';
import type { OpenedPath } from '../../runtime/host-files.ts';

const ROUNDS = 60;
const [step = '', state = '', stateOnHost = '', folder = ''] = process.argv.slice(2);
const files = linuxHostFiles(hostRoot);
const shared = { path: state, hostPath: stateOnHost };
const mounts = linuxMounts({ findNetwork: hostNetwork, mounts: { find: hostMountNamespace, shared } });
const binds = join(state, 'the #1\\binds');

/** Returns a path of the host's mount namespace as this process may open it. */
const seenByHost = async (path: string) => `${await hostRoot()}${path}`;
const mountsOfHost = async () => readFileSync(join(await hostRoot(), '..', 'mountinfo'), 'utf8');

const bindable = (opened: OpenedPath, propagation: BindSource['propagation'] = 'none') => ({ opened, propagation });

async function openPart(subPath: string): Promise<OpenedPath> {
  await using root = await files.open(join(folder, 'volume'));
  if (root === undefined) throw new TypeError('the folder of the host is not there');
  return await openBeneath(root, subPath, 'create');
}

/** Binds host paths beside the agent's own paths in any order, also in namespaces that do not see each other's mounts. */
async function bindsBoth(): Promise<void> {
  writeFileSync(join(state, 'own'), "of the agent's");
  const onHost = await seenByHost(folder);
  await using opened = new AsyncDisposableStack();
  const paths = [
    opened.use(await openPart('new/part')),
    opened.use(await openOwned(join(state, 'own'))),
    opened.use(await openPart('file')),
  ];
  const bound = await mounts.bind(
    paths.map((opened) => bindable(opened)),
    binds,
  );
  const sources = [join(onHost, 'volume/new/part'), join(state, 'own'), join(onHost, 'volume/file')];
  const inodes = (all: readonly string[]) => all.map((path) => statSync(path).ino);
  deepEqual(inodes(bound), inodes(sources));
  const boundOnHost = await seenByHost(join(stateOnHost, 'the #1\\binds'));
  deepEqual(inodes(['0', '1', '2'].map((name) => join(boundOnHost, name))), inodes(sources));
  writeFileSync(join(bound[0] ?? '', 'written'), 'here');
  equal(readFileSync(join(onHost, 'volume/new/part/written'), 'utf8'), 'here');
  await clean();
  equal(readFileSync(join(onHost, 'volume/new/part/written'), 'utf8'), 'here');
}

async function clean(): Promise<void> {
  await mounts.detach(binds);
  equal((await mountsOfHost()).includes(`${stateOnHost}/the`), false);
  equal(readFileSync('/proc/self/mountinfo', 'utf8').includes(`${state}/the`), false);
}

/**
 * A program that may write to the volume exchanges a folder for a link out of the volume, before, after and while the folder is opened
 * and bound.
 */
async function staysInVolume(): Promise<void> {
  const onHost = await seenByHost(folder);
  const [volume, outside] = [join(onHost, 'volume'), join(onHost, 'outside')];
  for (const [at, text] of [[join(volume, 'x'), 'inside'] as const, [outside, 'outside'] as const]) {
    mkdirSync(join(at, 'part'), { recursive: true });
    writeFileSync(join(at, 'part', 'whose'), text);
  }
  symlinkSync('../outside', join(volume, 'y'));
  // The exchange is one step, so each name is always one of the two.
  const exchange = `mv --exchange --no-target-directory ${volume}/x ${volume}/y`;
  const shown = async (opened: OpenedPath) => {
    const [bound = ''] = await mounts.bind([bindable(opened)], binds);
    const whose = readFileSync(join(bound, 'whose'), 'utf8');
    await mounts.detach(binds);
    return whose;
  };
  {
    await using opened = await openPart('x/part');
    execSync(exchange);
    equal(await shown(opened), 'inside');
  }
  await rejects(openPart('x/part'), /leads out of its volume/);
  const racer = spawn('sh', ['-c', `while ${exchange}; do :; done`], { stdio: 'ignore' });
  let shownRounds = 0;
  // On a busy machine, many rounds are over before the program has started.
  for (let round = 0; round < ROUNDS || shownRounds === 0; round++) {
    equal(racer.exitCode, null, 'nothing is exchanged any more');
    const opened = await openPart('x/part').catch((error: unknown) => String(error));
    if (typeof opened === 'string') match(opened, /path "x\/part" (leads out of its volume|cannot be opened: EINVAL)/);
    else {
      await using _ = opened;
      equal(await shown(opened), 'inside');
      shownRounds++;
    }
  }
  racer.kill();
  deepEqual(readdirSync(outside), ['part']);
  deepEqual(readdirSync(join(outside, 'part')), ['whose']);
}

async function bindAndLeave(propagation: BindSource['propagation']): Promise<void> {
  await using opened = await openPart('part');
  await mounts.bind([bindable(opened, propagation)], binds);
  process.kill(process.pid, 'SIGKILL');
}

async function isRefused(): Promise<void> {
  await using opened = await openPart('file');
  await mounts.bind([bindable(opened)], binds);
}

const STEPS: Readonly<Record<string, () => Promise<void>>> = {
  bindsBoth,
  staysInVolume,
  bindAndLeave: () => bindAndLeave('none'),
  bindFromHostAndLeave: () => bindAndLeave('from-host'),
  clean,
  isRefused,
};
await STEPS[step]?.();
