import { type Clock, pause } from '@gantry/base';
import {
  type ControllerContext,
  type ControllerSpec,
  formatReconcileKey,
  type Log,
  type ReconcileKey,
  type Result,
} from '@gantry/controller-runtime';
import { OptionsError } from './options-error.ts';
import type { Right } from './rights.ts';
import { traced, type Tracer } from './tracer.ts';

/** What a reconcile may use. Reads come from the shared cache, which may be behind; writes go to the API server. */
export interface ReconcileContext extends Omit<ControllerContext, 'served'> {
  /** Its lines carry the controller and the object. */
  readonly log: Log;
}

/** At most `perSecond` reconciles a second on average, and `burst` at once. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

/**
 * A control loop. `reconcile` receives the key of an object and nothing else: it reads the current state, decides and writes. A key never
 * has two reconciles at a time. When `reconcile` throws, it is called again with back-off. It must be idempotent.
 *
 * The next reconcile of a key waits until the cache shows the writes of the last one, so a decision is never repeated because the cache is
 * behind.
 *
 * @example
 * ```ts
 * const controller: Controller = {
 *   name: 'labels',
 *   watches: [watchSelf(DEPLOYMENTS)],
 *   reconcile: async (key, { cache, client, log }, signal) => {
 *     const deployment = cache.get(DEPLOYMENTS, key);
 *     if (deployment === undefined || deployment.metadata.labels?.team !== undefined) return {};
 *     await client.patch(DEPLOYMENTS, key, { merge: { metadata: { labels: { team: 'unknown' } } } }, signal);
 *     log.info({}, 'labelled');
 *     return { requeueAfterMs: 60_000 };
 *   },
 * };
 * ```
 */
export interface Controller
  extends Pick<ControllerSpec, 'name' | 'watches' | 'workers' | 'share' | 'awaitOwnWrites' | 'begin' | 'end'> {
  /** The source of its Events; the name of the operator when absent. */
  readonly eventSource?: string;
  /** No limit when absent. The back-off of failing keys applies in addition. */
  readonly rateLimit?: RateLimit;
  /**
   * What `reconcile` does beside reading the cache and writing Events, for `rolesOf`. `simulate` fails for what is missing, if all
   * controllers of the operator have it.
   */
  readonly rights?: readonly Right[];
  readonly reconcile: (key: ReconcileKey, context: ReconcileContext, signal: AbortSignal) => Promise<Result>;
}

/** What the operator adds to each controller. */
export interface ControllerParts {
  readonly operator: string;
  readonly clock: Clock;
  readonly log: Log & { child(fields: Record<string, unknown>): Log };
  readonly tracer: Tracer | undefined;
  /** Called when a reconcile starts (1) and ends (-1). */
  readonly onActive: (controller: string, change: 1 | -1) => void;
}

/** The controller in the form of the runtime. Throws OptionsError. */
export function controllerSpec(
  controller: Controller,
  { operator, clock, log, tracer, onActive }: ControllerParts,
): ControllerSpec {
  const { name, rateLimit, workers, eventSource = operator } = controller;
  if (workers !== undefined && !(Number.isInteger(workers) && workers > 0)) {
    throw new OptionsError(`controllers[${name}].workers: must be a positive integer, not ${workers}`);
  }
  const limiter =
    rateLimit === undefined ? undefined : new TokenBucket(`controllers[${name}].rateLimit`, rateLimit, clock);
  const reconcile: ControllerSpec['reconcile'] = async (key, { served: _served, ...context }, signal) => {
    await limiter?.take(signal);
    signal.throwIfAborted();
    onActive(name, 1);
    try {
      const fields = { controller: name, object: formatReconcileKey(key) };
      return await traced(tracer, `reconcile ${name}`, fields, () =>
        controller.reconcile(key, { ...context, log: log.child(fields) }, signal),
      );
    } finally {
      onActive(name, -1);
    }
  };
  const { watches, share, awaitOwnWrites, begin, end } = controller;
  const optional = { workers, share, awaitOwnWrites, begin, end };
  const given = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined));
  return { name, eventSource, watches, reconcile, ...given };
}

/** Gives `perSecond` tokens a second; unused ones are kept up to `burst`. */
class TokenBucket {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  #tokens: number;
  #atMs: number;

  constructor(field: string, limit: RateLimit, clock: Clock) {
    if (!(limit.perSecond > 0)) throw new OptionsError(`${field}.perSecond: must be more than 0`);
    if (!(Number.isInteger(limit.burst) && limit.burst > 0)) {
      throw new OptionsError(`${field}.burst: must be a positive integer`);
    }
    this.#limit = limit;
    this.#clock = clock;
    this.#tokens = limit.burst;
    this.#atMs = clock.monotonicMs();
  }

  /** Resolves when a token is there, in the order of the calls, or when the signal is aborted. */
  async take(signal: AbortSignal): Promise<void> {
    const { perSecond, burst } = this.#limit;
    const now = this.#clock.monotonicMs();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#atMs) * perSecond) / 1000) - 1;
    this.#atMs = now;
    // A negative number is what earlier calls already wait for.
    if (this.#tokens < 0) await pause(this.#clock, (-this.#tokens * 1000) / perSecond, signal);
  }
}
