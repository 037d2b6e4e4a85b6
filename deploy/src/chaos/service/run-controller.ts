import { type Clock, errorMessage, pause, type Random, untilDone } from '@gantry/base';
import type { Verdict } from '@gantry/chaos-checker';
import { ignoreNotFound, type ObjectReader, type ObjectWriter } from '@gantry/client';
import { keyOf } from '@gantry/objects';
import { type Controller, watchSelf } from '@gantry/operator';
import { CommandError } from '../../machine/command-error.ts';
import type { CheckedResult } from '../campaign.ts';
import type { CampaignOptions, Choices } from '../options.ts';
import type { CampaignView } from '../show-lines.ts';
import { CHAOS_RUNS, type ChaosRun, type ChaosRunStatus } from './kinds.ts';
import { optionsOf } from './run-options.ts';
import { RunStatus } from './run-status.ts';

/** Keeps an object until the faults of its campaign are healed. */
export const FINALIZER = 'chaos.gantry.dev/heal';
const REPORT_MS = 1_000;
const LOOK_AGAIN_MS = 2_000;
/** A fault may take a response away. */
const WRITE_MS = 10_000;
const ENDED: ReadonlySet<string> = new Set(['Passed', 'Violated', 'Inconclusive', 'Failed']);
const NEVER = new AbortController().signal;

/** A campaign with its verdict. */
export interface Checked {
  readonly result: CheckedResult;
  readonly verdict: Verdict;
}

export interface RunControllerOptions {
  readonly client: Pick<ObjectReader, 'get'> & Pick<ObjectWriter, 'patch'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly choices: Choices;
  /** Takes the lock for faults at this cluster. Throws CommandError while another process holds it. */
  readonly lock: () => Disposable;
  /** Runs a campaign. Everything is healed when it settles, also after `stop`. */
  readonly campaign: (options: CampaignOptions, view: CampaignView, stop: AbortSignal) => Promise<Checked>;
  /** What happens, for the log. */
  readonly say: (text: string) => void;
}

interface Current {
  readonly uid: string;
  readonly name: string;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Makes the campaigns that ChaosRuns ask for, one at a time. A run whose object is deleted is healed before the object goes; one whose object
 * goes without the finalizer ends, too. What was left by a process that was killed must be healed before this one starts.
 */
export class RunController {
  readonly controller: Controller;
  readonly #options: RunControllerOptions;
  #current: Current | undefined;

  constructor(options: RunControllerOptions) {
    this.#options = options;
    this.controller = {
      name: 'chaos-runs',
      watches: [watchSelf(CHAOS_RUNS)],
      reconcile: async (key, { cache }) => {
        const run = cache.get(CHAOS_RUNS, key);
        if (run !== undefined) return await this.reconcile(run);
        await this.endReplaced(key.name, undefined);
        return {};
      },
    };
  }

  /** Ends the campaign that runs. Resolves when everything is healed, and its object says how it ended. */
  async end(): Promise<void> {
    this.#current?.stop.abort();
    await this.#current?.ended;
  }

  /**
   * Ends the campaign of an object that is gone, because another client removed its finalizer. `uid` is that of the object with its name now;
   * undefined when there is none.
   */
  async endReplaced(name: string, uid: string | undefined): Promise<void> {
    if (this.#current?.name === name && this.#current.uid !== uid) await this.end();
  }

  /** One step for an object as the cache has it. */
  async reconcile(run: ChaosRun): Promise<{ readonly requeueAfterMs?: number }> {
    const { deletionTimestamp, finalizers = [], name = '', uid } = run.metadata;
    await this.endReplaced(name, uid);
    const isHeld = finalizers.includes(FINALIZER);
    const isCurrent = this.#current !== undefined && this.#current.uid === uid;
    if (deletionTimestamp !== undefined) {
      if (isCurrent) await this.end();
      else if (isHeld) await this.#release(run);
      return {};
    }
    if (isCurrent) return {};
    const { phase = 'Pending' } = run.status ?? {};
    if (ENDED.has(phase)) {
      if (isHeld) await this.#release(run);
      return {};
    }
    if (phase !== 'Pending') {
      await this.#write(run, { phase: 'Failed', message: 'the chaos service ended while it ran; all is healed' });
      return {};
    }
    if (this.#current !== undefined) return await this.#wait(run, `waits for ${this.#current.name}`);
    if (isHeld) return await this.#start(run);
    // The event of this write queues the key again.
    await this.#patch(run, { metadata: finalizersOf(run, [...finalizers, FINALIZER]) });
    return {};
  }

  async #start(run: ChaosRun): Promise<{ readonly requeueAfterMs?: number }> {
    const { choices, clock, lock, random } = this.#options;
    let options: CampaignOptions;
    try {
      options = optionsOf(run.spec, choices, random);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      const { message, fix } = error;
      await this.#write(run, { phase: 'Failed', message: fix === undefined ? message : `${message} (${fix})` });
      return {};
    }
    let locked: Disposable;
    try {
      locked = lock();
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      return await this.#wait(run, error.message);
    }
    const stop = new AbortController();
    const { uid = '', name = '' } = run.metadata;
    const status = new RunStatus(clock, options.seed);
    const ended = this.#make(run, options, status, stop.signal).finally(() => {
      locked[Symbol.dispose]();
      this.#current = undefined;
    });
    this.#current = { uid, name, stop, ended };
    return {};
  }

  /** Never rejects. */
  async #make(run: ChaosRun, options: CampaignOptions, status: RunStatus, stop: AbortSignal): Promise<void> {
    const { campaign, clock, say } = this.#options;
    const { name } = run.metadata;
    say(`${name}: seed ${options.seed}`);
    const done = new AbortController();
    const reported = this.#report(run, status, done.signal);
    const last = await campaign(options, status.view, stop).then(
      (checked) => status.end(checked),
      (error: unknown) => status.fail(errorMessage(error)),
    );
    done.abort();
    await reported;
    say(`${name}: ${last.phase}: ${last.message}`);
    const persist = async () => {
      if ((await this.#read(run)) === undefined) return;
      await this.#write(run, last);
      await this.#release(run);
    };
    await untilDone({ clock, everyMs: REPORT_MS, onReason: (why) => say(`${name}: ${why}`) }, persist, NEVER);
  }

  /** Writes the status once a second if it has changed. A failed write is repeated a second later: faults also strike the API. */
  async #report(run: ChaosRun, status: RunStatus, done: AbortSignal): Promise<void> {
    const { clock, say } = this.#options;
    let written = '';
    let failure = '';
    while (!done.aborted) {
      const { current } = status;
      const text = JSON.stringify(current);
      if (text !== written) {
        try {
          await this.#write(run, current);
          written = text;
        } catch (error) {
          if (errorMessage(error) !== failure) say(`${run.metadata.name}: ${errorMessage(error)}`);
          failure = errorMessage(error);
        }
      }
      await pause(clock, REPORT_MS, done);
    }
  }

  async #wait(run: ChaosRun, message: string): Promise<{ readonly requeueAfterMs: number }> {
    const { phase, message: said } = run.status ?? {};
    if (phase !== 'Pending' || said !== message) await this.#write(run, { phase: 'Pending', message });
    return { requeueAfterMs: LOOK_AGAIN_MS };
  }

  async #write(run: ChaosRun, status: ChaosRunStatus): Promise<void> {
    await this.#patch(run, { metadata: { uid: run.metadata.uid }, status }, 'status');
  }

  /** The object as the API has it now. Undefined when it is gone, also when another one has its name. */
  async #read(run: ChaosRun): Promise<ChaosRun | undefined> {
    const signal = AbortSignal.timeout(WRITE_MS);
    const now = await ignoreNotFound(this.#options.client.get(CHAOS_RUNS, keyOf(run), signal));
    return now?.metadata.uid === run.metadata.uid ? now : undefined;
  }

  /** Takes the finalizer from the object as it is now: others may have changed the list since it was read. */
  async #release(run: ChaosRun): Promise<void> {
    const now = await this.#read(run);
    const { finalizers = [] } = now?.metadata ?? {};
    if (now === undefined || !finalizers.includes(FINALIZER)) return;
    const others = finalizers.filter((name) => name !== FINALIZER);
    await this.#patch(now, { metadata: finalizersOf(now, others) });
  }

  async #patch(run: ChaosRun, merge: object, subresource?: 'status'): Promise<void> {
    const patch = subresource === undefined ? { merge } : { merge, subresource };
    const signal = AbortSignal.timeout(WRITE_MS);
    await ignoreNotFound(this.#options.client.patch(CHAOS_RUNS, keyOf(run), patch, signal));
  }
}

/** Merge-patch metadata for a list of finalizers. It has the resourceVersion, so a write between the read and the patch causes a conflict. */
function finalizersOf({ metadata: { uid, resourceVersion } }: ChaosRun, finalizers: readonly string[]): object {
  return { uid, resourceVersion, finalizers };
}
