import { type Clock, DeadlineError, errorMessage, raceAbort, withDeadline } from '@gantry/base';
import type { Logger } from './logger.ts';

/**
 * One part of a process. All members of a group run at the same time; later members may use earlier ones, so they are
 * stopped first.
 */
export interface GroupMember {
  readonly name: string;
  /** Runs until it fails or `signal` is aborted; after an abort it must end soon. Its end stops the whole group, whatever the reason. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Accepts no new work and finishes running work. Called for all members, last one first, before any member is aborted. */
  readonly drain?: (signal: AbortSignal) => Promise<void>;
  /** Releases everything. Called after `run` has ended, or when its time limit has passed. It is not cancelled but has a time limit. */
  readonly close?: () => Promise<void>;
}

/** The signals that stop a group in order. */
export type StopSignal = 'SIGTERM' | 'SIGINT';

/** The source of stop requests. */
export interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown;
  off(signal: StopSignal, listener: () => void): unknown;
}

/** Time limits of a stop, and the source of stop signals. */
export interface GroupOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The process itself when absent. */
  readonly signals?: SignalSource;
  /** Milliseconds for all members together to drain; 8000 when absent. */
  readonly drainMs?: number;
  /** Milliseconds for each member to end after its abort, and again to close; 2000 when absent. */
  readonly closeMs?: number;
}

/** Why a group ended: a stop signal, or the member that ended first, with its error if it failed. */
export type GroupOutcome =
  | { readonly kind: 'signal'; readonly signal: StopSignal; readonly stop: 'orderly' | 'forced' }
  | { readonly kind: 'ended'; readonly member: string; readonly error: unknown };

/** The exit code for an outcome: 0 only for an orderly stop after a signal. */
export function exitCodeOf(outcome: GroupOutcome): number {
  return outcome.kind === 'signal' && outcome.stop === 'orderly' ? 0 : 1;
}

interface Running {
  readonly member: GroupMember;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/**
 * Runs members together until the first one ends or a stop signal arrives. Then stops all: all members drain, then each is aborted, awaited
 * and closed, in reverse order. A second signal ends the draining early. Errors while stopping are logged; the other members are still
 * stopped.
 */
export async function runGroup(members: readonly GroupMember[], options: GroupOptions): Promise<GroupOutcome> {
  const { clock, logger, signals = process, drainMs = 8000, closeMs = 2000 } = options;
  const forced = new AbortController();
  const first = Promise.withResolvers<GroupOutcome>();
  const listeners = (['SIGTERM', 'SIGINT'] as const).map((signal) => {
    let times = 0;
    const listener = () => {
      times += 1;
      if (times === 1) first.resolve({ kind: 'signal', signal, stop: 'orderly' });
      else forced.abort(new DeadlineError(`second ${signal}`));
    };
    signals.on(signal, listener);
    return { signal, listener };
  });
  const running = members.map((member): Running => {
    const abort = new AbortController();
    const done = member.run(abort.signal).then(
      () => first.resolve({ kind: 'ended', member: member.name, error: undefined }),
      (error: unknown) => first.resolve({ kind: 'ended', member: member.name, error }),
    );
    return { member, abort, done };
  });
  try {
    const outcome = await first.promise;
    logger.info({ reason: outcome.kind === 'signal' ? outcome.signal : outcome.member }, 'stopping');
    if (outcome.kind === 'ended' && outcome.error !== undefined) {
      logger.error({ member: outcome.member, err: outcome.error }, 'member failed');
    }
    const stopping = running.toReversed();
    await drainAll(stopping, forced.signal, { clock, logger, drainMs });
    for (const each of stopping) await closeOne(each, { clock, logger, closeMs });
    return outcome.kind === 'signal' && forced.signal.aborted ? { ...outcome, stop: 'forced' } : outcome;
  } finally {
    for (const { signal, listener } of listeners) signals.off(signal, listener);
  }
}

async function drainAll(
  running: readonly Running[],
  forced: AbortSignal,
  { clock, logger, drainMs }: { clock: Clock; logger: Logger; drainMs: number },
): Promise<void> {
  using deadline = withDeadline(clock, forced, drainMs);
  for (const { member } of running) {
    if (member.drain === undefined || deadline.aborted) continue;
    await bounded(member.drain(deadline), deadline, (error) =>
      logger.warn({ member: member.name, reason: errorMessage(error) }, 'draining was cut short'),
    );
  }
}

async function closeOne(
  { member, abort, done }: Running,
  { clock, logger, closeMs }: { clock: Clock; logger: Logger; closeMs: number },
): Promise<void> {
  const never = new AbortController().signal;
  abort.abort();
  {
    using deadline = withDeadline(clock, never, closeMs);
    await bounded(done, deadline, (error) =>
      logger.warn({ member: member.name, reason: errorMessage(error) }, 'did not end in time'),
    );
  }
  if (member.close === undefined) return;
  using deadline = withDeadline(clock, never, closeMs);
  await bounded(member.close(), deadline, (error) =>
    logger.warn({ member: member.name, reason: errorMessage(error) }, 'closing failed'),
  );
}

async function bounded(work: Promise<void>, signal: AbortSignal, failed: (error: unknown) => void): Promise<void> {
  try {
    await raceAbort(work, signal);
  } catch (error) {
    failed(error);
  }
}
