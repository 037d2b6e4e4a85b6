import type { Leader, LeadersReport } from './reports.ts';

/** A change of leaders that was seen. Times are Unix milliseconds; undefined until they are known. */
export interface Failover {
  readonly component: string;
  readonly former: string;
  /** When the former leader was last seen leading. */
  readonly lastSeenAt: number;
  /** When the lease expired and there was no leader. */
  readonly vacantAt?: number | undefined;
  readonly next?: string | undefined;
  readonly epoch?: number | undefined;
  readonly electedAt?: number | undefined;
  readonly actingAt?: number | undefined;
  readonly firstWriteAt?: number | undefined;
}

interface Seen {
  readonly holder: string;
  readonly epoch: number;
  readonly at: number;
}

/** What was seen of leaders so far. */
export interface LeaderLog {
  /** By component: its last leader. */
  readonly leaders: Readonly<Record<string, Seen>>;
  /** The newest first. */
  readonly failovers: readonly Failover[];
}

export const EMPTY_LOG: LeaderLog = { leaders: {}, failovers: [] };

const MAX_FAILOVERS = 50;

/** The log after one more report. */
export function observeLeaders(log: LeaderLog, { at, leaders }: LeadersReport): LeaderLog {
  const now = Date.parse(at);
  return leaders.reduce((current, leader) => observe(current, leader, now), log);
}

function observe(log: LeaderLog, leader: Leader, now: number): LeaderLog {
  const { component, holder, epoch } = leader;
  const former = log.leaders[component];
  const open = log.failovers.find((one) => one.component === component && one.firstWriteAt === undefined);
  if (holder === null || epoch === null) {
    if (former === undefined || (open?.next === undefined && open !== undefined)) return log;
    return {
      ...log,
      failovers: add(log.failovers, { component, former: former.holder, lastSeenAt: former.at, vacantAt: now }),
    };
  }
  const leading = leader.candidates.find(({ identity, state }) => identity === holder && state === 'leading');
  const leaders = { ...log.leaders, [component]: seen(former, { holder, epoch }, leading !== undefined, now) };
  if (former === undefined || former.epoch === epoch) {
    if (open === undefined || open.epoch !== epoch) return { ...log, leaders };
    return { leaders, failovers: replace(log.failovers, open, { ...open, ...termOf(leader) }) };
  }
  const next = { next: holder, epoch, ...termOf(leader) };
  if (open !== undefined && open.next === undefined)
    return { leaders, failovers: replace(log.failovers, open, { ...open, ...next }) };
  return {
    leaders,
    failovers: add(log.failovers, { component, former: former.holder, lastSeenAt: former.at, ...next }),
  };
}

/** A holder whose process does not respond may be dead: it was last seen before. */
function seen(
  former: Seen | undefined,
  { holder, epoch }: { holder: string; epoch: number },
  responds: boolean,
  now: number,
): Seen {
  if (responds || former === undefined || former.epoch !== epoch) return { holder, epoch, at: now };
  return former;
}

function termOf({ candidates, epoch }: Leader): Partial<Failover> {
  const term = candidates.find((one) => one.term?.epoch === epoch)?.term;
  const time = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text));
  return { electedAt: time(term?.electedAt), actingAt: time(term?.actingAt), firstWriteAt: time(term?.firstWriteAt) };
}

function add(failovers: readonly Failover[], one: Failover): readonly Failover[] {
  return [one, ...failovers].slice(0, MAX_FAILOVERS);
}

function replace(failovers: readonly Failover[], old: Failover, one: Failover): readonly Failover[] {
  return failovers.map((failover) => (failover === old ? one : failover));
}

/** From the last sign of the former leader to the first write of the next one, in milliseconds. */
export function gapMs({ lastSeenAt, firstWriteAt }: Failover): number | undefined {
  return firstWriteAt === undefined ? undefined : Math.max(0, firstWriteAt - lastSeenAt);
}
