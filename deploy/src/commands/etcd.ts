/** `npm run etcd -- status | replace MEMBER | add | remove MEMBER | defragment | disarm`: what an operator does with the members of etcd. */
import { parseArgs } from 'node:util';
import { errorMessage, systemClock } from '@gantry/base';
import { openApi } from '../cluster/api.ts';
import { createVolume } from '../cluster/compose.ts';
import {
  changeMembers,
  checkRemoval,
  checkReplacement,
  type EndpointStatus,
  healthyMembers,
  isLeader,
  isRefusedForAMoment,
  type Member,
  parseMembers,
} from '../cluster/etcd-members.ts';
import { type EtcdTools, initialCluster } from '../cluster/etcd-tools.ts';
import { type OpenCluster, openCluster } from '../cluster/open-cluster.ts';
import { untilSucceeds, type Wait, waitUntil } from '../cluster/wait-until.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import { rollingUpdate } from '../rolling-update/rolling-update.ts';
import { mustReadSettings, storeMembers } from '../settings/ensure-settings.ts';
import { MEMBER_SERVICES } from '../settings/member-settings.ts';
import { runCommand } from './run-command.ts';

const clock = systemClock;
/** The time limit of each wait. */
const LIMIT_MS = 600_000;
const POLL_MS = 500;
const waitFor = (what: string): Wait => ({ clock, what, timeoutMs: LIMIT_MS, everyMs: POLL_MS });
const USAGE = 'npm run etcd -- status | replace MEMBER | add | remove MEMBER | defragment | disarm';
const WITH_MEMBER = ['replace', 'remove'];

await runCommand(async () => {
  const { positionals } = parseArgs({ allowPositionals: true });
  const [verb = '', name, ...rest] = positionals;
  const commands: Readonly<Record<string, (cluster: OpenCluster, name: string) => Promise<void>>> = {
    status: showStatus,
    replace,
    add,
    remove,
    defragment,
    disarm,
  };
  const run = commands[verb];
  if (run === undefined || rest.length > 0 || (name !== undefined) !== WITH_MEMBER.includes(verb)) {
    throw new CommandError('a command is needed, and a member for `replace` and `remove`', USAGE);
  }
  await run(await openCluster(), name ?? '');
  return 0;
});

/** The members, as a healthy one knows them. */
async function membersOf(etcd: EtcdTools): Promise<readonly Member[]> {
  const healthy = await healthyMembers(etcd);
  if (healthy.size === 0) {
    throw new CommandError(
      'no member of etcd serves requests: the quorum is lost',
      `start all members: docker compose up -d --no-recreate ${etcd.layout.members.join(' ')}; if their data is lost: npm run snapshot -- restore FILE`,
    );
  }
  return parseMembers(await etcd.ctl([...healthy], ['member', 'list', '-w', 'simple']), healthy);
}

async function showStatus({ etcd, progress }: OpenCluster): Promise<void> {
  const members = await membersOf(etcd);
  const healthy = members.filter(({ state }) => state === 'healthy').map(({ name }) => name);
  progress.line(await etcd.ctl(healthy, ['endpoint', 'status', '-w', 'table']));
  for (const { name, state, role } of members) {
    if (state === 'unhealthy') progress.line(`${name} (${role}) does not serve requests`);
  }
  for (const name of etcd.layout.members) {
    if (!members.some((member) => member.name === name))
      progress.line(`${name} is no member: npm run etcd -- replace ${name}`);
  }
  const alarms = (await etcd.ctl(healthy, ['alarm', 'list'])).trim();
  progress.line(alarms === '' ? 'no alarm' : alarms);
}

function refuseUnknown(name: string, members: readonly string[]): void {
  if (members.includes(name)) return;
  throw new CommandError(`there is no member ${name}`, `members: ${members.join(', ')}`);
}

/**
 * Adds a member to those that there are, as `replace` adds one. The settings name it before: if the command ends early, `status` says how to
 * go on.
 */
async function add({ config, etcd }: OpenCluster): Promise<void> {
  const { members } = etcd.layout;
  const voters = (await membersOf(etcd)).filter(({ role, state }) => role === 'voter' && state === 'healthy');
  const missing = members.find((name) => !voters.some((member) => member.name === name));
  if (missing !== undefined) {
    throw new CommandError(
      `a member is added when all others serve requests, and ${missing} does not`,
      `docker compose logs ${missing}; if its data is lost: npm run etcd -- replace ${missing}`,
    );
  }
  const name = MEMBER_SERVICES.find((service) => !members.includes(service));
  if (name === undefined) throw new CommandError('etcd has five members: docker-compose.yml has services for no more');
  storeMembers(config, [...members, name].sort());
  const grown = await openCluster();
  await replace(grown, name);
  await updateServices(grown);
}

/** Removes a member with its data, for good. It can be called again if it ended early. */
async function remove(cluster: OpenCluster, name: string): Promise<void> {
  const { config, etcd, project, progress } = cluster;
  // Also one that the settings name no more: the command may have ended before its data was removed.
  refuseUnknown(name, MEMBER_SERVICES);
  const members = await membersOf(etcd);
  checkRemoval(name, members);
  const removed = members.find((member) => member.name === name);
  const others = members.filter((member) => member.name !== name && member.state === 'healthy');
  await progress.step(`${name} removed`, async (note) => {
    if (removed?.state === 'healthy') await giveUpLeadership(etcd, name, others, note);
    const asked = others.map((one) => one.name);
    if (removed !== undefined) await removeMember(etcd, asked, removed, note);
    await project.compose(['rm', '-s', '-f', name]);
    storeMembers(
      config,
      etcd.layout.members.filter((member) => member !== name),
    );
  });
  const shrunk = await openCluster();
  await progress.step('its data removed', () => emptyData(shrunk, name));
  await updateServices(shrunk);
}

/** A leader of etcd that ends without this is replaced by an election, for which writes wait. So it is when etcd refuses this for a moment. */
async function giveUpLeadership(
  etcd: EtcdTools,
  name: string,
  others: readonly Member[],
  note: (missing: string) => void,
): Promise<void> {
  const successor = others.find(({ role }) => role === 'voter');
  try {
    const statuses = JSON.parse(await etcd.ctl([name], ['endpoint', 'status', '-w', 'json'])) as EndpointStatus[];
    if (statuses.some(isLeader) && successor !== undefined) await etcd.ctl([name], ['move-leader', successor.id]);
  } catch (error) {
    if (!isRefusedForAMoment(error)) throw error;
    note(`without handing leadership over: ${errorMessage(error)}`);
  }
}

async function removeMember(
  etcd: EtcdTools,
  asked: readonly string[],
  { id, name }: Member,
  note: (missing: string) => void,
): Promise<void> {
  const isDone = (now: readonly Member[]) => !now.some((member) => member.id === id);
  await changeMembers(etcd, asked, { args: ['remove', id], isDone }, waitFor(`removing ${name}`), note);
}

/**
 * Replaces the services that have the addresses of etcd's members in their settings, as `up` does, when the API is ready: it may not be for a
 * moment after the members have changed.
 */
async function updateServices({ config, project, progress, shell }: OpenCluster): Promise<void> {
  await progress.step('services know the members', async (note) => {
    using api = openApi(config);
    const update = { ...mustReadSettings(config), project, shell, clock, api, note };
    await waitUntil(waitFor('the API'), () => rollingUpdate(update), note);
  });
}

/** Removes a member with its data, and adds it again as a learner, which becomes a voter when it has all data. */
async function replace(cluster: OpenCluster, name: string): Promise<void> {
  const { clusterId, etcd, project, progress, shell } = cluster;
  refuseUnknown(name, etcd.layout.members);
  const members = await membersOf(etcd);
  checkReplacement(name, members);
  const old = members.find((member) => member.name === name);
  const healthyOthers = members.filter((member) => member.name !== name && member.state === 'healthy');
  const others = healthyOthers.map((one) => one.name);
  const temporary = `${clusterId}-${name}-joining`;
  await progress.step(old === undefined ? `${name} prepared` : `${name} removed`, async (note) => {
    if (old?.state === 'healthy') await giveUpLeadership(etcd, name, healthyOthers, note);
    await project.compose(['rm', '-s', '-f', name]);
    await mustRun(shell, 'docker', ['rm', '-f', temporary]);
    if (old !== undefined) await removeMember(etcd, others, old, note);
    await emptyData(cluster, name);
  });
  await progress.step(`${name} added as a learner`, async (note) => {
    const change = {
      args: ['add', name, `--peer-urls=https://${name}:2380`, '--learner'],
      isDone: (now: readonly Member[]) => now.some((member) => member.name === name),
    };
    await changeMembers(etcd, others, change, waitFor(`adding ${name}`), note);
    // Only this first start joins a cluster that exists; afterwards the data says so.
    const names = [...members.map((member) => member.name), name];
    const environment = [
      `ETCD_INITIAL_CLUSTER=${initialCluster([...new Set(names)])}`,
      'ETCD_INITIAL_CLUSTER_STATE=existing',
    ];
    const joining = ['--name', temporary, ...environment.flatMap((variable) => ['-e', variable])];
    await project.compose(['run', '-d', '--no-deps', '--use-aliases', ...joining, name]);
  });
  await progress.step(`${name} has all data and votes`, async (note) => {
    const whyInVain = () => whyEnded(shell, temporary);
    const wait = waitFor(name);
    const promote = async () => {
      const now = parseMembers(await etcd.ctl(others, ['member', 'list', '-w', 'simple']), new Set());
      const added = now.find((member) => member.name === name);
      if (added === undefined) throw new CommandError(`${name} is no member any more`);
      if (added.role === 'learner') await etcd.ctl(others, ['member', 'promote', added.id]);
    };
    await untilSucceeds({ ...wait, whyInVain }, promote, note);
    await mustRun(shell, 'docker', ['stop', temporary]);
    await mustRun(shell, 'docker', ['rm', temporary]);
    await project.compose(['up', '-d', '--no-build', name], (line) => note(line.trim()));
    const serve = async () => {
      if (!(await healthyMembers(etcd)).has(name)) throw new CommandError(`${name} does not serve requests yet`);
    };
    await untilSucceeds(wait, serve, note);
    note('');
  });
}

/** Why a container that should run has ended: its last line. Undefined while it runs. */
async function whyEnded(shell: Shell, name: string): Promise<string | undefined> {
  const state = (await mustRun(shell, 'docker', ['inspect', '-f', '{{.State.Status}}', name])).trim();
  if (state === 'running') return undefined;
  const { stdout, stderr } = await shell.run('docker', ['logs', '--tail', '1', name]);
  return `${name} is ${state}: ${`${stdout}${stderr}`.trim()}`;
}

/** Makes a member's volume if it is lost, and empties it. The job of certificates gives it to etcd's user. */
async function emptyData({ clusterId, shell, project }: OpenCluster, name: string): Promise<void> {
  await createVolume(shell, clusterId, name);
  await project.runOnce('pki', ['find', `/data/${name}`, '-mindepth', '1', '-delete']);
  await project.runOnce('pki', []);
}

/** One member after the other: a member does not respond meanwhile. */
async function defragment({ etcd, progress }: OpenCluster): Promise<void> {
  const members = await membersOf(etcd);
  for (const { name, state } of members) {
    if (state === 'unhealthy') progress.line(`${name} does not serve requests: left out`);
    else await progress.step(name, async () => void (await etcd.ctl([name], ['defrag'])));
  }
}

async function disarm({ etcd, progress }: OpenCluster): Promise<void> {
  const healthy = (await membersOf(etcd)).filter(({ state }) => state === 'healthy').map(({ name }) => name);
  const before = (await etcd.ctl(healthy, ['alarm', 'list'])).trim();
  await etcd.ctl(healthy, ['alarm', 'disarm']);
  progress.line(before === '' ? 'there was no alarm' : `disarmed: ${before}`);
}
