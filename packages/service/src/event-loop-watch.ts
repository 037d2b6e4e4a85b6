import { type Activities, type Clock, pause } from '@gantry/base';
import type { Logger } from './logger.ts';
import { type Stall, stallMeter } from './meters.ts';
import type { Metrics } from './metrics.ts';
import type { GroupMember } from './run-group.ts';

/** Turns longer than this many milliseconds are logged as stalls. */
const STALL_MS = 250;
/** Milliseconds between beats, for a busy and for an idle loop. */
const BUSY_BEAT_MS = 10;
const IDLE_BEAT_MS = 250;
const BUSY_FROM = 0.1;
/** The loop counts as idle after this many consecutive beats that found it idle. */
const QUIET_BEATS = 20;
/** The longest stall is reported for a window of this length, up to twice as long. */
const WINDOW_MS = 60_000;

/** The times of an event loop since its start, in milliseconds. */
export interface LoopTimes {
  /** Time that it waited for events. */
  idleMs(): number;
  /** Processor time of its thread. */
  cpuMs(): number;
  /** The number of rounds in which it looked for events. */
  rounds(): number;
}

const OF_THIS_PROCESS: LoopTimes = {
  idleMs: () => performance.eventLoopUtilization().idle,
  cpuMs: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
  rounds: () => performance.nodeTiming.uvMetricsInfo.loopCount,
};

export interface EventLoopWatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly activities: Activities;
  /** Those of this process when absent. */
  readonly times?: LoopTimes;
}

/**
 * Measures how long the turns of a process's event loop take. A stall over 250 ms is logged with the activities that ran. A turn is the
 * time for which the loop was busy while a timer was due, plus the earlier part of the same turn. Processor time of this thread is measured
 * separately, because on a busy machine every process waits. If the loop has made many rounds since the last beat, the start of the turn is
 * unknown; it is then assumed at most one busy beat before the timer was due.
 */
export function eventLoopWatch(options: EventLoopWatchOptions): GroupMember {
  return {
    name: 'event-loop-watch',
    run: async (signal) => {
      const watch = new EventLoopWatch(options);
      while (!signal.aborted) {
        await pause(options.clock, watch.nextBeatMs, signal);
        if (!signal.aborted) watch.beat();
      }
    },
  };
}

class EventLoopWatch {
  readonly #options: EventLoopWatchOptions;
  readonly #times: LoopTimes;
  readonly #observe: (turn: Stall) => void;
  readonly #windows: { startedMs: number; longest: Stall; before: Stall };
  #lastMs: number;
  #lastIdleMs: number;
  #lastCpuMs: number;
  #lastRounds: number;
  #quietBeats = 0;
  nextBeatMs = IDLE_BEAT_MS;

  constructor(options: EventLoopWatchOptions) {
    const { clock, metrics, times = OF_THIS_PROCESS } = options;
    this.#options = options;
    this.#times = times;
    this.#lastMs = clock.monotonicMs();
    this.#lastIdleMs = times.idleMs();
    this.#lastCpuMs = times.cpuMs();
    this.#lastRounds = times.rounds();
    this.#windows = { startedMs: this.#lastMs, longest: NO_STALL, before: NO_STALL };
    const longest = (time: keyof Stall) => Math.max(this.#windows.longest[time], this.#windows.before[time]);
    const longestNow = () => {
      this.beat();
      return { wallMs: longest('wallMs'), cpuMs: longest('cpuMs') };
    };
    this.#observe = stallMeter(metrics, longestNow, STALL_MS);
  }

  /** Evaluates the time since the last beat. If the beat came late, a turn of the loop has ended in it. */
  beat(): void {
    const { clock, logger, activities } = this.#options;
    const now = clock.monotonicMs();
    const idle = this.#times.idleMs();
    const cpu = this.#times.cpuMs();
    const rounds = this.#times.rounds();
    const sinceMs = this.#lastMs;
    const gapMs = now - sinceMs;
    const busyMs = Math.max(0, gapMs - (idle - this.#lastIdleMs));
    const lateMs = gapMs - this.nextBeatMs;
    const isLate = lateMs >= 0;
    const isSpread = rounds - this.#lastRounds > this.nextBeatMs / BUSY_BEAT_MS;
    const stallMs = isSpread ? Math.min(busyMs, Math.max(0, lateMs) + BUSY_BEAT_MS) : busyMs;
    const cpuMs = Math.min(stallMs, cpu - this.#lastCpuMs);
    this.#lastMs = now;
    this.#lastIdleMs = idle;
    this.#lastCpuMs = cpu;
    this.#lastRounds = rounds;
    this.#rotate(now);
    if (isLate) {
      this.#quietBeats = busyMs > gapMs * BUSY_FROM ? 0 : this.#quietBeats + 1;
      if (this.#quietBeats === 0) this.nextBeatMs = BUSY_BEAT_MS;
      else if (this.#quietBeats >= QUIET_BEATS) this.nextBeatMs = IDLE_BEAT_MS;
      this.#observe({ wallMs: stallMs, cpuMs });
      const { longest } = this.#windows;
      this.#windows.longest = {
        wallMs: Math.max(longest.wallMs, stallMs),
        cpuMs: Math.max(longest.cpuMs, cpuMs),
      };
    }
    if (stallMs <= STALL_MS) return;
    const stall = { stallMs: Math.round(stallMs), cpuMs: Math.round(cpuMs) };
    logger.warn({ ...stall, during: activities.since(sinceMs) }, 'the event loop stalled');
  }

  #rotate(now: number): void {
    const { startedMs, longest } = this.#windows;
    if (now - startedMs < WINDOW_MS) return;
    this.#windows.startedMs = now;
    this.#windows.before = longest;
    this.#windows.longest = NO_STALL;
  }
}

const NO_STALL: Stall = { wallMs: 0, cpuMs: 0 };
