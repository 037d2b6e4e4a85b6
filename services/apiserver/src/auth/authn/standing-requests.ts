import { type Clock, pause } from '@gantry/base';
import { isReason } from '@gantry/objects';

/** How often long-running requests are authenticated again. */
const CHECK_MS = 10_000;

/** The reason why a long-running request was aborted. */
export class CredentialsEndedError extends Error {
  override readonly name = 'CredentialsEndedError';
}

const CREDENTIALS_ENDED = new CredentialsEndedError('the credentials of the request are no longer valid');

/**
 * Long-running requests: watches, followed logs, proxied connections. Kubernetes authenticates them only at their start. Gantry aborts
 * them when their credentials become invalid: an expired certificate or token, a deleted service account, a deleted pod of a bound token.
 */
export class StandingRequests {
  readonly #clock: Clock;
  readonly #requests = new Map<AbortController, () => Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Aborts `request` when `authenticate` rejects it. The caller calls the returned function when the request ends. */
  follow(request: AbortController, authenticate: () => Promise<unknown>): () => void {
    this.#requests.set(request, authenticate);
    return () => this.#requests.delete(request);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(this.#clock, CHECK_MS, signal);
      await this.check();
    }
  }

  /** Authenticates all requests now. */
  async check(): Promise<void> {
    for (const [request, authenticate] of this.#requests) {
      try {
        await authenticate();
      } catch (error) {
        // Other errors say nothing about the credentials. They are checked again in the next round.
        if (isReason(error, 'Unauthorized')) request.abort(CREDENTIALS_ENDED);
      }
    }
  }
}
