import { type Clock, errorMessage, raceAbort } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';
import type { ImageInfo, ImageRuntime, PullReport } from '../runtime/images.ts';
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
  waiters: number;
  readonly reports: Set<PullReport>;
}

/**
 * Pulls images, different ones at the same time. Pods that ask for the same image with the same credentials at once share one pull;
 * it goes on as long as one of them waits. Agents of one host share the engine's downloads of layers.
 */
export class ImagePuller {
  readonly #images: Pick<ImageRuntime, 'inspectImage' | 'pullImage'>;
  readonly #records: PulledImages;
  readonly #clock: Clock;
  readonly #flights = new Map<string, Flight>();

  constructor(images: Pick<ImageRuntime, 'inspectImage' | 'pullImage'>, records: PulledImages, clock: Clock) {
    this.#images = images;
    this.#records = records;
    this.#clock = clock;
  }

  /**
   * Tries the credentials in their order, or none. `report` gets the progress. AgentError 'ErrImagePull' with what the registry answered
   * to each.
   */
  async pull(
    reference: string,
    credentials: readonly PullCredential[],
    signal: AbortSignal,
    report: PullReport = () => undefined,
  ): Promise<Pull> {
    const key = JSON.stringify([reference, ...credentials.map(({ secret, hash }) => [secret.uid, hash])]);
    const flight = this.#flights.get(key) ?? this.#start(key, reference, credentials);
    flight.waiters++;
    flight.reports.add(report);
    try {
      return await raceAbort(flight.done, signal);
    } finally {
      flight.waiters--;
      flight.reports.delete(report);
      if (flight.waiters === 0) {
        flight.abort.abort();
        this.#forget(key, flight);
      }
    }
  }

  #start(key: string, reference: string, credentials: readonly PullCredential[]): Flight {
    const abort = new AbortController();
    const reports = new Set<PullReport>();
    const reportAll: PullReport = (progress) => {
      for (const report of reports) report(progress);
    };
    const done = this.#fly(reference, credentials, reportAll, abort.signal);
    const flight: Flight = { done, abort, waiters: 0, reports };
    const end = () => this.#forget(key, flight);
    // Its waiters report its failure; there may be none any more.
    void done.then(end, end);
    this.#flights.set(key, flight);
    return flight;
  }

  /** No pod joins it any more: one that was given up would fail for another pod's sake. */
  #forget(key: string, flight: Flight): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }

  async #fly(
    reference: string,
    credentials: readonly PullCredential[],
    report: PullReport,
    signal: AbortSignal,
  ): Promise<Pull> {
    const startMs = this.#clock.monotonicMs();
    const before = await this.#images.inspectImage(reference, signal);
    const origin = before === undefined ? 'pulled' : await this.#records.originOf(before.id, reference);
    await this.#records.intend(reference);
    const failures: string[] = [];
    for (const credential of credentials.length === 0 ? (['anonymous'] as const) : credentials) {
      try {
        await this.#images.pullImage(reference, credential, signal, report);
      } catch (error) {
        signal.throwIfAborted();
        failures.push(errorMessage(error));
        continue;
      }
      const image = await this.#images.inspectImage(reference, signal);
      if (image === undefined) throw new AgentError('ErrImagePull', 'the image does not exist after its pull');
      const access = credential === 'anonymous' ? 'anyone' : { secret: credential.secret, hash: credential.hash };
      await this.#records.record(image.id, { reference, access, origin: before?.id === image.id ? origin : 'pulled' });
      await this.#records.touch(image.id, this.#clock.now());
      return { image, tookMs: this.#clock.monotonicMs() - startMs };
    }
    await this.#records.endIntent(reference);
    const [only = '', ...more] = failures;
    throw new AgentError('ErrImagePull', more.length === 0 ? only : `[${failures.join(', ')}]`);
  }
}
