import { backoffMs, type Clock, errorMessage, type Random, Signal, withDeadline } from '@gantry/base';
import type { DiscoveredResource } from '@gantry/client';
import { aggregatedResource, type RemoteVersion, type ServedResource } from './served-resource.ts';

/** Discovers the resources of an aggregated group version. Rejects when its server does not respond. */
export type Discover = (
  of: { readonly group: string; readonly version: string },
  signal: AbortSignal,
) => Promise<readonly DiscoveredResource[]>;

export interface RemoteGroupOptions {
  readonly discover: Discover;
  readonly clock: Clock;
  readonly random: Random;
  /** Called after every response, and after every failure. */
  readonly onAnswer: () => void;
}

/** Milliseconds between discoveries: no event reports that an extension server has added resources. */
const AGAIN_MS = 30_000;
const DEADLINE_MS = 10_000;
const BACKOFF = { initialMs: 500, maxMs: AGAIN_MS };

/** One group version of an aggregated API server: its resources as last discovered, refreshed at intervals. */
export class RemoteGroup {
  readonly version: RemoteVersion;
  readonly #options: RemoteGroupOptions;
  #resources: readonly ServedResource[] = [];
  #failure: string | undefined;
  #state: 'never-asked' | 'asked' = 'never-asked';
  readonly #asked = new Signal();
  #waiting: (() => void)[] = [];

  constructor(version: RemoteVersion, options: RemoteGroupOptions) {
    this.version = version;
    this.#options = options;
  }

  /** The resources of the last successful discovery. They stay known while the server is down. */
  get resources(): readonly ServedResource[] {
    return this.#resources;
  }

  /** Why the last discovery failed. */
  get failure(): string | undefined {
    return this.#failure;
  }

  get wasAsked(): boolean {
    return this.#state === 'asked';
  }

  /** Discovers now. Resolves when a discovery that started after this call has succeeded or failed. */
  ask(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    this.#asked.notify();
    return promise;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      const waiting = this.#waiting;
      this.#waiting = [];
      failures = (await this.#discover(signal)) ? 0 : failures + 1;
      for (const resolve of waiting) resolve();
      if (signal.aborted) break;
      await this.#asked.wait(clock, failures === 0 ? AGAIN_MS : backoffMs(BACKOFF, failures, random), signal);
    }
    for (const resolve of this.#waiting) resolve();
  }

  async #discover(signal: AbortSignal): Promise<boolean> {
    const { discover, clock, onAnswer } = this.#options;
    try {
      using deadline = withDeadline(clock, signal, DEADLINE_MS);
      const found = await discover(this.version, deadline);
      this.#resources = found.map((one) => aggregatedResource(this.version, one));
      this.#failure = undefined;
    } catch (error) {
      if (signal.aborted) return false;
      this.#failure = errorMessage(error);
    }
    this.#state = 'asked';
    onAnswer();
    return this.#failure === undefined;
  }
}
