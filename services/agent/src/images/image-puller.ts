import { type Clock, errorMessage, raceAbort } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';
import type { ImageInfo, ImageRuntime, PullReport } from '../runtime/images.ts';
import type { LedPull, PullAudience, PullSharing } from './host-pulls.ts';
import type { PullCredential } from './keyring.ts';
import type { PulledImages } from './pulled-images.ts';

/** An image that was pulled, and how long the engine took for it. */
export interface Pull {
  readonly image: ImageInfo;
  readonly tookMs: number;
}

interface Flight {
  readonly done: Promise<Pull>;
  readonly abort: AbortController;
  /** Counts pods of this agent and other agents that follow. */
  waiters: number;
  readonly reports: Set<PullReport>;
}

/** The image and the credential that the registry accepted, or the registry's refusal of each credential. */
type PullResult =
  | { readonly image: ImageInfo; readonly credential: PullCredential | 'anonymous' }
  | { readonly failures: readonly string[] };

/** A pull as the first pod requests it. */
interface Wanted {
  readonly reference: string;
  readonly credentials: readonly PullCredential[];
  /** Identifies the pull. Contains what the registry's response depends on: the reference and the credentials. */
  readonly key: string;
}

export interface ImagePullerOptions {
  readonly images: Pick<ImageRuntime, 'inspectImage' | 'pullImage'>;
  readonly records: PulledImages;
  readonly sharing: PullSharing;
  readonly clock: Clock;
}

/**
 * Pulls images, different ones concurrently. Pods that request the same image with the same credentials at the same time share
 * one pull, also pods of the host's other agents. The pull continues while one of them waits. A pod with other credentials gets
 * its own pull, so that the registry checks them; the engine joins the downloads of layers.
 */
export class ImagePuller {
  readonly #options: ImagePullerOptions;
  readonly #flights = new Map<string, Flight>();

  constructor(options: ImagePullerOptions) {
    this.#options = options;
  }

  /**
   * Tries the credentials in order; pulls anonymously without any. `report` receives the progress. AgentError 'ErrImagePull' with
   * the registry's message for each credential.
   */
  async pull(
    reference: string,
    credentials: readonly PullCredential[],
    signal: AbortSignal,
    report: PullReport = () => undefined,
  ): Promise<Pull> {
    const key = JSON.stringify([reference, ...credentials.map(({ secret, hash }) => [secret.uid, hash])]);
    const flight = this.#flights.get(key) ?? this.#start({ key, reference, credentials });
    flight.waiters++;
    flight.reports.add(report);
    try {
      return await raceAbort(flight.done, signal);
    } finally {
      flight.reports.delete(report);
      this.#leave(key, flight);
    }
  }

  #start(wanted: Wanted): Flight {
    const { key } = wanted;
    const abort = new AbortController();
    const reports = new Set<PullReport>();
    const audience: PullAudience = {
      report: (progress) => {
        for (const report of reports) report(progress);
      },
      arrive: () => void flight.waiters++,
      leave: () => this.#leave(key, flight),
    };
    const done = this.#fly(wanted, audience, abort.signal);
    const flight: Flight = { done, abort, waiters: 0, reports };
    const end = () => this.#forget(key, flight);
    // Failures are reported to the waiters through `done`; there may be no waiter left.
    void done.then(end, end);
    this.#flights.set(key, flight);
    return flight;
  }

  #leave(key: string, flight: Flight): void {
    flight.waiters--;
    if (flight.waiters > 0) return;
    flight.abort.abort();
    this.#forget(key, flight);
  }

  /** New pods do not join this pull any more: one that was aborted would fail for them, too. */
  #forget(key: string, flight: Flight): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }

  async #fly(wanted: Wanted, audience: PullAudience, signal: AbortSignal): Promise<Pull> {
    const { images, records, sharing } = this.#options;
    const { reference, credentials, key } = wanted;
    const joined = await sharing.join(key, audience, signal);
    if (joined.kind === 'led') return await this.#lead(joined, wanted, audience, signal);
    if (joined.kind === 'failed') throw new AgentError('ErrImagePull', joined.message);
    const image = await images.inspectImage(reference, signal);
    // The records decide who may use the image, not the other agent.
    if (image !== undefined && (await records.mayUse(image.id, reference, async () => credentials))) {
      return { image, tookMs: joined.tookMs };
    }
    return await this.#ask(wanted, audience.report, signal);
  }

  /** Runs the pull for this agent and for its followers. */
  async #lead(led: LedPull, wanted: Wanted, audience: PullAudience, signal: AbortSignal): Promise<Pull> {
    const report: PullReport = (progress) => {
      audience.report(progress);
      led.report(progress);
    };
    let end: Parameters<LedPull['end']>[0] = 'given up';
    try {
      const pull = await this.#ask(wanted, report, signal);
      end = { kind: 'pulled', tookMs: pull.tookMs };
      return pull;
    } catch (error) {
      if (error instanceof AgentError && !signal.aborted) end = { kind: 'failed', message: errorMessage(error) };
      throw error;
    } finally {
      await led.end(end);
    }
  }

  /** Asks the engine to pull, and records the credential that the registry accepted. */
  async #ask(wanted: Wanted, report: PullReport, signal: AbortSignal): Promise<Pull> {
    const { images, records, clock } = this.#options;
    const { reference } = wanted;
    const startMs = clock.monotonicMs();
    const before = await images.inspectImage(reference, signal);
    const origin = before === undefined ? 'pulled' : await records.originOf(before.id, reference);
    await records.intend(reference);
    let answer: PullResult;
    try {
      answer = await this.#tryEach(wanted, report, signal);
    } catch (error) {
      records.leaveIntent(reference);
      throw error;
    }
    if ('failures' in answer) {
      await records.endIntent(reference, async () => (await images.inspectImage(reference, signal))?.id);
      const [only = '', ...more] = answer.failures;
      throw new AgentError('ErrImagePull', more.length === 0 ? only : `[${answer.failures.join(', ')}]`);
    }
    const { image, credential } = answer;
    const access = credential === 'anonymous' ? 'anyone' : { secret: credential.secret, hash: credential.hash };
    await records.record(image.id, { reference, access, origin: before?.id === image.id ? origin : 'pulled' });
    await records.touch(image.id, clock.now());
    return { image, tookMs: clock.monotonicMs() - startMs };
  }

  /** Rejects when the pull is aborted or its result cannot be determined; it may have brought an image then. */
  async #tryEach({ reference, credentials }: Wanted, report: PullReport, signal: AbortSignal): Promise<PullResult> {
    const { images } = this.#options;
    const failures: string[] = [];
    for (const credential of credentials.length === 0 ? (['anonymous'] as const) : credentials) {
      try {
        await images.pullImage(reference, credential, signal, report);
      } catch (error) {
        signal.throwIfAborted();
        failures.push(errorMessage(error));
        continue;
      }
      const image = await images.inspectImage(reference, signal);
      if (image === undefined) throw new AgentError('ErrImagePull', 'the image does not exist after its pull');
      return { image, credential };
    }
    return { failures };
  }
}
