import type { Metrics } from './metrics.ts';

/** The duration of a turn of the event loop, and its processor time. */
export interface Stall {
  readonly wallMs: number;
  readonly cpuMs: number;
}

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Records turns of the event loop. `longest` is called at each scrape. Turns of more than `stallMs` also count as stalls. */
export function stallMeter(metrics: Metrics, longest: () => Stall, stallMs: number): (turn: Stall) => void {
  const stalls = metrics.counter('gantry_event_loop_stalls_total', 'Turns of the event loop of more than 250 ms');
  stalls.inc({}, 0);
  const wall = metrics.histogram('gantry_event_loop_stall_seconds', 'Turns of the event loop', [], SECONDS);
  const cpu = metrics.histogram(
    'gantry_event_loop_stall_cpu_seconds',
    'Processor time of turns of the event loop',
    [],
    SECONDS,
  );
  metrics.gauge(
    'gantry_event_loop_longest_stall_seconds',
    'The longest turn of the event loop in the last one to two minutes',
    ['time'],
    (gauge) => {
      const { wallMs, cpuMs } = longest();
      gauge.set(wallMs / 1000, { time: 'wall' });
      gauge.set(cpuMs / 1000, { time: 'cpu' });
    },
  );
  return (turn) => {
    wall.observe(turn.wallMs / 1000);
    cpu.observe(turn.cpuMs / 1000);
    if (turn.wallMs > stallMs) stalls.inc();
  };
}

/** The lease of this process as the leader of a component. */
export interface LeaseMeter {
  /** Reports its time to live in milliseconds, 0 while another process may lead. */
  readonly onLease: (ttlMs: number) => void;
  /** What was reported last. */
  readonly leaseTtlMs: () => number;
}

/** Shows the lease of this process as the leader of `name` in metrics. */
export function leaseMeter(metrics: Metrics, name: string): LeaseMeter {
  let current = 0;
  const status = metrics.gauge(
    'leader_election_master_status',
    'Whether this process leads: 1 for the leader, 0 for a standby',
    ['name'],
  );
  const seconds = metrics.gauge(
    'gantry_leader_lease_seconds',
    "The time to live of the leader's lease, which becomes longer while renewals are late; 0 for a standby",
    ['name'],
  );
  const onLease = (ttlMs: number): void => {
    current = ttlMs;
    status.set(ttlMs > 0 ? 1 : 0, { name });
    seconds.set(ttlMs / 1000, { name });
  };
  onLease(0);
  return { onLease, leaseTtlMs: () => current };
}
