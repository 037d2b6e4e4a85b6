import { type Clock, pause } from '@gantry/base';
import { isReason } from '@gantry/objects';

/** How often requests that last are authenticated again. */
const CHECK_MS = 10_000;

/** Why a request that lasts was ended. */
export class CredentialsEndedError extends Error {
  override readonly name = 'CredentialsEndedError';
}

const CREDENTIALS_ENDED = new CredentialsEndedError('the credentials of the request are no longer valid');

/**
 * The requests that last: watches, followed logs, proxied connections. Kubernetes authenticates them once; here they end when their
 * credentials do: an expired certificate or token, a deleted service account or pod of a bound token.
 */
export class StandingRequests {
  readonly #clock: Clock;
  readonly #requests = new Map<AbortController, () => Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Aborts `request` when `authenticate` refuses it; the returned function is called at the request's own end. */
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

  /** Authenticates all of them now. */
  async check(): Promise<void> {
    for (const [request, authenticate] of this.#requests) {
      try {
        await authenticate();
      } catch (error) {
        // Any other error says nothing about the credentials: they are asked about again next time.
        if (isReason(error, 'Unauthorized')) request.abort(CREDENTIALS_ENDED);
      }
    }
  }
}
