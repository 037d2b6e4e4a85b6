import { backoffMs, type Clock, errorMessage, pause, type Random, withDeadline } from '@gantry/base';
import type { DiscoveredResource } from '@gantry/client';
import { aggregatedResource, type RemoteVersion, type ServedResource } from './served-resource.ts';

/** What a server elsewhere says that a group version holds. Fails where nobody says it. */
export type Discover = (
  of: { readonly group: string; readonly version: string },
  signal: AbortSignal,
) => Promise<readonly DiscoveredResource[]>;

export interface RemoteGroupOptions {
  readonly discover: Discover;
  readonly clock: Clock;
  readonly random: Random;
  /** Told after every answer, and after every failure to get one. */
  readonly onAnswer: () => void;
}

/** Nobody tells of resources that an extension server adds. */
const AGAIN_MS = 30_000;
const DEADLINE_MS = 10_000;
const BACKOFF = { initialMs: 500, maxMs: AGAIN_MS };

/** One group version of another server: what it was last found to hold, asked again and again on its own. */
export class RemoteGroup {
  readonly version: RemoteVersion;
  readonly #options: RemoteGroupOptions;
  #resources: readonly ServedResource[] = [];
  #failure: string | undefined;
  #state: 'never-asked' | 'asked' = 'never-asked';
  #wake = Promise.withResolvers<void>();
  #waiting: (() => void)[] = [];

  constructor(version: RemoteVersion, options: RemoteGroupOptions) {
    this.version = version;
    this.#options = options;
  }

  /** As last answered: a server that is down takes nothing of what it serves with it. */
  get resources(): readonly ServedResource[] {
    return this.#resources;
  }

  /** Why the last question was not answered. */
  get failure(): string | undefined {
    return this.#failure;
  }

  get wasAsked(): boolean {
    return this.#state === 'asked';
  }

  /** Asks now; resolves when a question that is begun from now on has been answered, or has failed. */
  ask(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    this.#wake.resolve();
    return promise;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      this.#wake = Promise.withResolvers();
      const waiting = this.#waiting;
      this.#waiting = [];
      failures = (await this.#discover(signal)) ? 0 : failures + 1;
      for (const resolve of waiting) resolve();
      if (signal.aborted) break;
      const rest = new AbortController();
      const delayMs = failures === 0 ? AGAIN_MS : backoffMs(BACKOFF, failures, random);
      await Promise.race([pause(clock, delayMs, AbortSignal.any([signal, rest.signal])), this.#wake.promise]);
      rest.abort();
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
