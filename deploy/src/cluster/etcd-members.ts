import { type Clock, errorMessage } from '@gantry/base';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import type { ServiceContainer } from './compose.ts';
import type { EtcdTools } from './etcd-tools.ts';
import { type Look, type Wait, waitUntil } from './wait-until.ts';

/** A member of etcd, and whether it serves requests. */
export interface Member {
  readonly name: string;
  /** In hexadecimal, as for etcdctl. */
  readonly id: string;
  readonly role: 'voter' | 'learner';
  readonly state: 'healthy' | 'unhealthy';
}

/** `text` is the output of `etcdctl member list -w simple`: ids have 64 bits, which JSON does not hold exactly. */
export function parseMembers(text: string, healthy: ReadonlySet<string>): readonly Member[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', , name = '', peers = '', , learner = ''] = line.split(', ');
      // A member that has not started yet has no name.
      const shown = name === '' ? (/^https:\/\/([^:]+):/.exec(peers)?.[1] ?? '') : name;
      return {
        id,
        name: shown,
        role: learner === 'true' ? 'learner' : 'voter',
        state: healthy.has(shown) ? 'healthy' : 'unhealthy',
      };
    });
}

/** What `etcdctl endpoint status -w json` says of a member. */
export interface EndpointStatus {
  readonly Endpoint: string;
  readonly Status: {
    /** Ids have 64 bits. They are only compared with each other, so the nearest double is enough. */
    readonly header: { readonly member_id: number };
    readonly leader: number;
    readonly version: string;
    readonly dbSize: number;
    readonly errors?: readonly string[];
  };
}

export const isLeader = ({ Status: { leader, header } }: EndpointStatus) => leader === header.member_id;

/** For a member that is down, etcdctl waits as long as it may. */
const READ_LIMIT = '--command-timeout=10s';

/** Members that answer a linearizable read within ten seconds. */
export async function healthyMembers(etcd: EtcdTools): Promise<ReadonlySet<string>> {
  const healthy = await Promise.all(
    etcd.layout.members.map(async (member) => {
      try {
        await etcd.ctl([member], ['get', '/gantry/incarnation', '--keys-only', READ_LIMIT]);
        return [member];
      } catch {
        return [];
      }
    }),
  );
  return new Set(healthy.flat());
}

/**
 * What etcd refuses for a moment: it has no leader, or its strict check of reconfigurations demands that all voters have been connected for
 * five seconds (`unhealthy cluster`). A deadline is one of etcdctl's own.
 */
export const isRefusedForAMoment = (error: unknown) =>
  /code = Unavailable|etcdserver: unhealthy cluster|context deadline exceeded/.test(errorMessage(error));

/** A change of the members: what etcdctl is asked for, and whether it has been done. */
export interface MemberChange {
  readonly args: readonly string[];
  isDone(members: readonly Member[]): boolean;
}

/** Asks `asked` for a change until it is done. A request that timed out may have been done, so the members are looked at before each one. */
export async function changeMembers(
  etcd: EtcdTools,
  asked: readonly string[],
  { args, isDone }: MemberChange,
  wait: Wait,
  note: (missing: string) => void,
): Promise<void> {
  const look = async (): Promise<Look<undefined>> => {
    try {
      const isMade = isDone(parseMembers(await etcd.ctl(asked, ['member', 'list', '-w', 'simple']), new Set()));
      if (!isMade) await etcd.ctl(asked, ['member', ...args]);
      return { done: true, value: undefined };
    } catch (error) {
      if (!isRefusedForAMoment(error)) throw error;
      return { done: false, missing: errorMessage(error).split('\n').at(-1) ?? '' };
    }
  };
  await waitUntil(wait, look, note);
}

/** A member that is not healthy after this many restarts counts as one that ends at each start. */
const FAILING_RESTARTS = 3;
/** One that has run for so long started well. The engine counts restarts as long as there is the container, and begins its back-off anew after this time. */
const STARTED_WELL_MS = 10_000;
/** Lines of the log of such a member: those of its last start, and its last error. */
const LOOKED_AT = '100';

/** A member whose container ends at each start. */
export interface FailingMember {
  readonly name: string;
  readonly cause: 'disk full' | 'unknown';
}

/** Members whose containers end at each start. The others may hold the quorum, so that the API is ready without them. */
export async function failingMembers(
  shell: Shell,
  clock: Clock,
  containers: readonly ServiceContainer[],
): Promise<readonly FailingMember[]> {
  const members = containers.filter(({ service }) => service.startsWith('etcd-'));
  if (members.length === 0) return [];
  const names = members.map(({ name }) => name);
  const text = await mustRun(shell, 'docker', ['inspect', '-f', '{{.RestartCount}} {{.State.StartedAt}}', ...names]);
  const starts = text
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
  const failing = members.filter(({ state, health }, index) => {
    const [restarts, startedAt = ''] = starts[index] ?? [];
    const runsWell = state === 'running' && clock.now() - Date.parse(startedAt) >= STARTED_WELL_MS;
    return health !== 'healthy' && Number(restarts) >= FAILING_RESTARTS && !runsWell;
  });
  return await Promise.all(
    failing.map(async ({ name, service }): Promise<FailingMember> => {
      const { stdout, stderr } = await shell.run('docker', ['logs', '--tail', LOOKED_AT, name]);
      const isFull = `${stdout}${stderr}`.includes('no space left on device');
      return { name: service, cause: isFull ? 'disk full' : 'unknown' };
    }),
  );
}

/** The problem of a member whose container ends at each start, and what to do. */
export function restartingMember({ name, cause }: FailingMember): string {
  if (cause === 'disk full') {
    return `${name} keeps restarting, because its disk is full; it starts when there is room: docker system df; df -h`;
  }
  return `${name} keeps restarting: docker compose logs ${name}; if its data is lost: npm run etcd -- replace ${name}`;
}

/** Throws CommandError if the other members could not write without this one. */
export function checkRemoval(name: string, members: readonly Member[]): void {
  const others = members.filter((member) => member.role === 'voter' && member.name !== name);
  if (others.length === 0) throw new CommandError(`${name} cannot be removed: it is the only member`);
  const healthy = others.filter(({ state }) => state === 'healthy');
  const needed = Math.floor(others.length / 2) + 1;
  if (healthy.length >= needed) return;
  throw new CommandError(
    `${name} cannot be removed: ${healthy.length} of the ${others.length} others are healthy, and ${needed} are needed to write`,
    'start the others first: docker compose up -d --no-recreate',
  );
}

/** Throws CommandError if the cluster could not write without this member while it is replaced. */
export function checkReplacement(name: string, members: readonly Member[]): void {
  const voters = members.filter(({ role }) => role === 'voter');
  const others = voters.filter((member) => member.name !== name && member.state === 'healthy');
  const needed = Math.floor(voters.length / 2) + 1;
  if (others.length >= needed) return;
  throw new CommandError(
    `${name} cannot be replaced: without it ${others.length} of ${voters.length} members are healthy, and ${needed} are needed to write`,
    others.length === 0
      ? 'restore a snapshot: npm run snapshot -- restore FILE'
      : 'start the others first: docker compose up -d --no-recreate',
  );
}
