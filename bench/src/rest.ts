import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import {
  API_SERVICES,
  CONFIG_MAPS,
  DAEMON_SETS,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  EVENTS,
  type KubeObject,
  LEASES,
  NAMESPACES,
  NODES,
  PODS,
  type Resource,
  SERVICES,
} from '@gantry/objects';
import { counted, countWrites } from './api-writes.ts';
import { deadline, type MeasuredCluster } from './cluster.ts';
import type { Figure } from './figures.ts';
import { judge } from './limits.ts';
import { judgeRestarts, type Part, type PartUse, servicesOf, startMeter } from './parts.ts';
import { endProcess, pssKib, sumOf } from './processes.ts';

/** What an idle cluster might write. */
const WATCHED: readonly Resource[] = [
  ...[LEASES, NODES, PODS, EVENTS, CONFIG_MAPS, ENDPOINT_SLICES, SERVICES],
  ...[DEPLOYMENTS, DAEMON_SETS, NAMESPACES, API_SERVICES],
];
const ENGINE = ['dockerd', 'containerd', 'containerd-shim'];
/** Of a core, all services of the cluster together. */
const MOST_PERCENT = 5;
/** A revision of etcd has so many versions of the API. */
const VERSIONS_A_REVISION = 256;

/**
 * What an idle cluster does: CPU, wake-ups and memory of each service and of the engine, writes by object, transactions of etcd, and
 * commands that the engine starts in the services' containers. The measure itself costs a look at the beginning and at the end, and watches.
 */
export async function measureRest(
  { api, project }: MeasuredCluster,
  minutes: number,
  print: (line: string) => void,
): Promise<readonly Figure[]> {
  const services = servicesOf(project);
  const writes = countWrites(
    api,
    WATCHED.map((resource) => counted(resource, (object) => nameOfWrite(resource, object))),
  );
  await writes.synced;
  const startedAt = Date.now();
  await using commands = countCommands(project, startedAt);
  const revision = await revisionOf(api);
  const used = startMeter([...services, ...engineParts()]);
  await Promise.race([delay(minutes * 60_000), writes.ended, commands.ended]);
  const uses = used();
  const tookMs = Date.now() - startedAt;
  await Promise.all([writes.stop(), commands.stop()]);
  const transactions = (await revisionOf(api)) - revision;
  const perMinute = (count: number) => (count * 60_000) / tookMs;
  const percent = ({ cpuMs }: PartUse) => (cpuMs / tookMs) * 100;
  print('| service | of one core | wake-ups a second | PSS |\n| --- | --- | --- | --- |');
  for (const use of uses) {
    const { name, pids, hasRestarted } = use;
    const share = `${hasRestarted ? 'at least ' : ''}${percent(use).toFixed(2)} %`;
    const mib = sumOf(pids.map(pssKib)) / 1024;
    print(
      `| ${name} x ${pids.length} | ${share} | ${(perMinute(use.wakeUps) / 60).toFixed(1)} | ${mib.toFixed(0)} MiB |`,
    );
  }
  const usesOfServices = uses.slice(0, services.length);
  const all = sumOf(usesOfServices.map(percent));
  print(`\n| write | a minute |\n| --- | --- |`);
  for (const [what, count] of sorted(writes.counts)) print(`| ${what} | ${perMinute(count).toFixed(1)} |`);
  print(`| all transactions of etcd | ${perMinute(transactions).toFixed(1)} |`);
  print(`\n| command in a container | a minute |\n| --- | --- |`);
  for (const [what, count] of sorted(commands.counts)) print(`| ${what} | ${perMinute(count).toFixed(1)} |`);
  print('');
  print(judge('CPU of all services', all, { atMost: MOST_PERCENT }, ' % of a core'));
  for (const line of judgeRestarts(usesOfServices)) print(line);
  const work = 'rest';
  const cpu = (what: string, value: number): Figure => ({ work, what, value, unit: '%', better: 'less' });
  const whole = usesOfServices.filter(({ hasRestarted }) => !hasRestarted);
  return [
    { work, what: 'transactions of etcd', value: perMinute(transactions), unit: '/min', better: 'less' },
    ...(whole.length === usesOfServices.length ? [cpu('CPU of all services', all)] : []),
    ...whole.map((use) => cpu(`CPU of ${use.name}`, percent(use))),
  ];
}

/** The container engine of this machine, which may run other containers, too. When it restarts, its events end and with them the measure. */
function engineParts(): readonly Part[] {
  const running = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const programs = Map.groupBy(running, programOf);
  return ENGINE.map((name) => ({ name, pids: (programs.get(name) ?? []).map(Number), mainPids: [] }));
}

/** The kernel keeps 15 characters of a program's name. */
function programOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim().slice(0, 15);
  } catch {
    return ''; // the process ended between two looks
  }
}

/** The newest revision of etcd. */
async function revisionOf(api: MeasuredCluster['api']): Promise<number> {
  const { resourceVersion } = await api.list(NAMESPACES, { metadataOnly: true }, deadline());
  if (!/^\d+$/.test(resourceVersion))
    throw new Error(`the list has the resourceVersion ${JSON.stringify(resourceVersion)}`);
  return Math.floor(Number(resourceVersion) / VERSIONS_A_REVISION);
}

/** All Leases of nodes, or all Events of a namespace, are one line. */
export function nameOfWrite(
  { resource }: Pick<Resource, 'resource'>,
  { metadata }: Pick<KubeObject, 'metadata'>,
): string {
  const { namespace = '', name = '' } = metadata;
  if (resource === EVENTS.resource || namespace === 'kube-node-lease') return `${resource} ${namespace}`;
  const path = namespace === '' ? name : `${namespace}/${name}`;
  return `${resource} ${path.replace(/[0-9a-f]{8,}|\d+/g, '*')}`;
}

interface CommandCounter extends AsyncDisposable {
  readonly counts: ReadonlyMap<string, number>;
  /** Rejects when the events end before `stop`. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Counts the commands that the engine starts in the project's containers, by service: its health checks, and those of people. Reads the events
 * as they happen, because the engine keeps only the last 256.
 */
export function countCommands(project: string, since: number): CommandCounter {
  const filters = ['--filter', 'type=container', '--filter', `label=com.docker.compose.project=${project}`];
  const format = '{{index .Actor.Attributes "com.docker.compose.service"}} {{.Action}}';
  const args = ['events', ...filters, '--since', String(since / 1000), '--format', format];
  const child = spawn('docker', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const counts = new Map<string, number>();
  let state: 'counts' | 'stops' = 'counts';
  const read = async () => {
    for await (const line of createInterface(child.stdout)) {
      const what = commandOf(line);
      if (what !== undefined) counts.set(what, (counts.get(what) ?? 0) + 1);
    }
    if (state === 'counts') throw new Error('`docker events` ended before the measurement');
  };
  const ended = read();
  // A failure is also thrown by `stop`.
  ended.catch(() => undefined);
  return {
    counts,
    ended,
    stop: async () => {
      state = 'stops';
      await endProcess(child);
      await ended;
    },
    [Symbol.asyncDispose]: () => endProcess(child),
  };
}

/** The service and the command of an event of the engine that starts one: `agent exec_start: healthcheck `. */
export function commandOf(event: string): string | undefined {
  const [, service, command = ''] = /^(\S+) exec_start: (.*)$/.exec(event) ?? [];
  return service === undefined ? undefined : `${service}: ${command.trim()}`;
}

function sorted(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counts].sort(([, one], [, other]) => other - one);
}
