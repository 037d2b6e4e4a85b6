import { type Clock, ControlLoop, errorMessage, type Random } from '@gantry/base';
import type { ObjectReader } from '@gantry/client';
import { Reflector } from '@gantry/controller-runtime';
import { type Secret, SECRETS } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import { readCertificate, type SecretContent } from '../rules/certificate.ts';

export interface SecretWatchOptions {
  readonly client: Pick<ObjectReader, 'list' | 'watch'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called when the content of a Secret has changed. */
  readonly onChange: () => void;
}

const RETRY = { initialMs: 200, maxMs: 30_000 };

interface Watched {
  readonly abort: AbortController;
  content: SecretContent;
}

/**
 * Watches the Secrets that Ingresses use, each by its name, because this service may not read other Secrets. It keeps only the served
 * content. A Secret that is used several times has one watch.
 */
export class SecretWatch {
  readonly #options: SecretWatchOptions;
  readonly #watched = new Map<string, Watched>();

  constructor(options: SecretWatchOptions) {
    this.#options = options;
  }

  get(namespace: string, name: string): SecretContent {
    return this.#watched.get(`${namespace}/${name}`)?.content ?? { kind: 'unknown' };
  }

  /** Whether every followed Secret has been read. */
  isSynced(): boolean {
    return [...this.#watched.values()].every(({ content }) => content.kind !== 'unknown');
  }

  /** Follows exactly the Secrets with these keys, `namespace/name`. */
  follow(keys: ReadonlySet<string>): void {
    for (const [key, { abort }] of this.#watched) {
      if (keys.has(key)) continue;
      abort.abort();
      this.#watched.delete(key);
    }
    for (const key of keys) {
      if (this.#watched.has(key)) continue;
      const watched: Watched = { abort: new AbortController(), content: { kind: 'unknown' } };
      this.#watched.set(key, watched);
      void this.#keepWatching(key, watched);
    }
  }

  /** Restarts a failed watch. The content that was read last is served meanwhile. So no failure ends the renewal of a certificate. */
  async #keepWatching(key: string, watched: Watched): Promise<void> {
    const { clock, random, logger } = this.#options;
    await new ControlLoop({
      round: () => this.#run(key, watched),
      retry: RETRY,
      lastingMs: RETRY.maxMs,
      onError: (error) =>
        logger.warn({ secret: key, reason: errorMessage(error) }, 'a watch of a Secret failed; it begins again'),
      clock,
      random,
    }).run(watched.abort.signal);
  }

  async #run(key: string, watched: Watched): Promise<void> {
    const { client, clock, random, logger } = this.#options;
    const [namespace = '', name = ''] = key.split('/');
    const selection = { namespace, fieldSelector: `metadata.name=${name}` };
    const reflector = new Reflector<Secret>({ client, resource: SECRETS, clock, random, ...selection });
    for await (const event of reflector.events(watched.abort.signal)) {
      if (watched.abort.signal.aborted) return;
      if (event.kind === 'failed') {
        logger.debug({ secret: key, reason: errorMessage(event.error) }, 'watching a Secret failed');
        continue;
      }
      const isIt = ({ metadata }: Secret) => metadata.name === name;
      if (event.kind === 'resync') this.#take(watched, event.objects.find(isIt));
      else
        for (const { kind, object } of event.changes) {
          if (isIt(object)) this.#take(watched, kind === 'gone' ? undefined : object);
        }
    }
  }

  #take(watched: Watched, secret: Secret | undefined): void {
    const content: SecretContent = secret === undefined ? { kind: 'missing' } : readCertificate(secret);
    if (JSON.stringify(content) === JSON.stringify(watched.content)) return;
    watched.content = content;
    this.#options.onChange();
  }
}
