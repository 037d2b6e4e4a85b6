import { anySignal } from './abort.ts';
import type { Clock } from './clock.ts';
import { ControlLoop } from './control-loop.ts';
import type { Random } from './random.ts';

/**
 * One term of a leader. A pair of incarnation and epoch is never reused. Each write of a leader carries its term; writes of older terms are
 * rejected.
 */
export interface Term {
  readonly electionKey: string;
  /** Create revision of the election key. A leader acts only when its caches have reached this revision. */
  readonly epoch: number;
  readonly incarnation: string;
}

/**
 * The events of a campaign: a term begins (`elected`), is uncertain (`suspended`: the leader must not act), continues (`resumed`), or has
 * ended (`lost`). After `lost` the campaign continues by itself.
 */
export type ElectionEvent<T = Term> =
  | { readonly kind: 'elected' | 'resumed'; readonly term: T }
  | { readonly kind: 'suspended' | 'lost' };

/** An election to take part in. */
export interface Election<T = Term> {
  /**
   * Campaigns until aborted, then resigns. The term is renewed in the background, even while the consumer handles an event. The next event
   * is delivered after the consumer has handled the previous one.
   */
  campaign(signal: AbortSignal): AsyncIterable<ElectionEvent<T>>;
}

/** Whether a process can do the leader's work. It does not campaign while it cannot, and resigns when it no longer can. */
export interface Ability {
  /** Resolves when this process can do the work. Awaited before each campaign. A rejection is logged, and repeated after a delay. */
  gained(signal: AbortSignal): Promise<void>;
  /** Resolves when this process can no longer do the work, or when the signal is aborted. Called at the start of each campaign. */
  lost(signal: AbortSignal): Promise<void>;
}

export interface LeadOptions<T = Term> {
  readonly election: Election<T>;
  /**
   * Acts as the leader; all work has stopped when the promise settles. Calls never overlap. After a suspension, it is called again with the
   * same term. It ends in one of three ways:
   *
   * - The signal is aborted: the term has ended or is suspended.
   *
   * - It rejects: the error is logged, and `act` is called again after a delay.
   *
   * - It resolves before the signal is aborted: this process resigns, so that another one can lead.
   */
  readonly act: (term: T, signal: AbortSignal) => Promise<void>;
  /** Whether this process can do the leader's work. Without it, it always can. */
  readonly ability?: Ability;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

const RETRY = { initialMs: 200, maxMs: 2000 };
/** A failure after this many milliseconds of acting or campaigning counts as the first failure. */
const LASTING_MS = 10_000;
/** Milliseconds between a resignation and the next campaign of this process. */
const REST_MS = 2000;

const MESSAGES = {
  elected: 'elected',
  suspended: 'leadership is uncertain, acting no more',
  resumed: 'leadership is certain again',
  lost: 'leadership lost',
};

/**
 * Campaigns while able to lead, and acts while elected, until the signal is aborted. A failed campaign is repeated with back-off. Resolves
 * when `act` has ended.
 *
 * @example
 * ```ts
 * await lead(
 *   {
 *     election,
 *     act: async (term, signal) => {
 *       await caches.reach(term.epoch, signal);
 *       await runControllers(term, signal); // until the signal is aborted
 *     },
 *     clock: systemClock,
 *     random: systemRandom,
 *     log,
 *   },
 *   shutdown,
 * );
 * ```
 */
export async function lead<T>(options: LeadOptions<T>, signal: AbortSignal): Promise<void> {
  const { clock, random, log } = options;
  await new ControlLoop({
    round: () => campaign(options, signal),
    intervalMs: REST_MS,
    retry: RETRY,
    lastingMs: LASTING_MS,
    onError: (error) => log.warn({ err: error }, 'the campaign failed, beginning another'),
    clock,
    random,
  }).run(signal);
}

/** One campaign, until it is aborted or this process resigns. */
async function campaign<T>(options: LeadOptions<T>, signal: AbortSignal): Promise<void> {
  const { election, ability, log } = options;
  await ability?.gained(signal);
  if (signal.aborted) return;
  const resigned = new AbortController();
  using ended = anySignal(signal, resigned.signal);
  const unable = ability?.lost(ended).finally(() => {
    if (!ended.aborted) log.warn({}, 'this process cannot do the work of a leader: it does not campaign until it can');
    resigned.abort();
  });
  // Awaited at the end of the campaign, which the rejection ends.
  unable?.catch(() => undefined);
  let acting: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
  const stopActing = async (): Promise<void> => {
    acting?.stop.abort();
    await acting?.done;
  };
  try {
    for await (const event of election.campaign(ended)) {
      await stopActing();
      if ('term' in event) {
        log.info({ term: event.term }, MESSAGES[event.kind]);
        const stop = new AbortController();
        acting = { stop, done: keepActing(options, event.term, resigned, anySignal(ended, stop.signal)) };
      } else if (!ended.aborted) {
        log.warn({}, MESSAGES[event.kind]);
      }
    }
  } finally {
    await stopActing();
    resigned.abort();
    await unable;
  }
}

async function keepActing<T>(
  { act, clock, random, log }: LeadOptions<T>,
  term: T,
  resigned: AbortController,
  ended: AbortSignal & Disposable,
): Promise<void> {
  using signal = ended;
  await new ControlLoop({
    round: async () => {
      await act(term, signal);
      if (signal.aborted) return;
      log.warn({ term }, 'acting as the leader has ended: resigning');
      resigned.abort();
    },
    retry: RETRY,
    lastingMs: LASTING_MS,
    onError: (error) => log.error({ err: error }, 'acting as the leader failed, trying again'),
    clock,
    random,
  }).run(signal);
}
