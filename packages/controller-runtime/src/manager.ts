import type { ResourceRef } from '@gantry/api';
import type { Clock, Random } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import type { Cache } from './cache.ts';
import type { ControllerSpec } from './controller.ts';
import { ControllerRunner, type ReconcileReport } from './controller-runner.ts';
import { createEventRecorder } from './event-writer.ts';
import { type InformedResource, Informers } from './informers.ts';
import type { FenceHolder, Term } from './leadership.ts';
import type { Log } from './log.ts';

export interface ManagerOptions {
  /** Writes with the fence of `fences`. */
  readonly client: ObjectClient;
  readonly fences: FenceHolder;
  readonly controllers: readonly ControllerSpec[];
  /** Cached besides what the controllers watch. */
  readonly resources?: readonly InformedResource[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onReconcile?: (report: ReconcileReport) => void;
}

/** Warm caches always; control loops while leading. */
export interface Manager {
  readonly cache: Cache;
  /** Keeps the caches until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Leads a term: once the caches have reached the term's epoch all controllers run, until `stop` (work under way is
   * finished) or `signal` (it is dropped). Resolves when nothing is under way any more.
   */
  lead(term: Term, stop: AbortSignal, signal: AbortSignal): Promise<void>;
  /** Resources never listed yet; a process with any is not ready. */
  missing(): readonly string[];
}

/** Runs control loops over one shared cache. */
export function createManager(options: ManagerOptions): Manager {
  const { client, fences, controllers, clock, random, log } = options;
  const informers = new Informers({ client, resources: resourcesOf(options), clock, random, log });
  return {
    cache: informers.cache,
    run: (signal) => informers.run(signal),
    missing: () => informers.missing(),
    lead: async (term, stop, signal) => {
      await informers.reach(term.epoch, AbortSignal.any([stop, signal]));
      const recorders = controllers.map((spec) =>
        createEventRecorder({ client, component: spec.eventSource, clock, random, log }),
      );
      fences.set(term, () => informers.cache.revision());
      log.info({ epoch: term.epoch, controllers: controllers.length }, 'controllers start');
      try {
        await Promise.all(
          controllers.map(async (spec, i) => {
            const events = recorders[i];
            if (events === undefined) return;
            const { onReconcile } = options;
            const runner = new ControllerRunner(spec, {
              client,
              informers,
              events,
              clock,
              random,
              log,
              ...(onReconcile === undefined ? {} : { onReconcile }),
            });
            await runner.run(stop, signal);
            await events.flush(signal);
          }),
        );
      } finally {
        for (const recorder of recorders) recorder.close();
        fences.set(undefined, () => 0);
        log.info({ epoch: term.epoch }, 'controllers stopped');
      }
    },
  };
}

function resourcesOf({ controllers, resources = [] }: ManagerOptions): readonly ResourceRef[] {
  return [...resources, ...controllers.flatMap(({ watches }) => watches.map(({ resource }) => resource))];
}
