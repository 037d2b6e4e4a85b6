import { type Clock, errorMessage, type Random, raceAbort } from '@gantry/base';
import type { ObjectReader } from '@gantry/client';
import { Reflector } from '@gantry/controller-runtime';
import { type Service, SERVICES } from '@gantry/objects';
import type { Logger } from '@gantry/service';

export interface ServiceSourceOptions {
  readonly client: ObjectReader;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** All Services, from one watch per node, like in the kubelet for the variables of containers. */
export class ServiceSource {
  readonly #options: ServiceSourceOptions;
  readonly #services = new Map<string, Service>();
  readonly #synced = Promise.withResolvers<void>();
  readonly #listeners = new Set<() => void>();

  constructor(options: ServiceSourceOptions) {
    this.#options = options;
  }

  /** The Services of these namespaces: `listed` waits until they have been listed, `now` returns those known now. */
  async inNamespaces(
    namespaces: readonly string[],
    when: 'listed' | 'now',
    signal: AbortSignal,
  ): Promise<readonly Service[]> {
    if (when === 'listed') await raceAbort(this.#synced.promise, signal);
    return [...this.#services.values()].filter(({ metadata }) => namespaces.includes(metadata.namespace ?? ''));
  }

  /** All Services, once they have been listed. */
  async all(signal: AbortSignal): Promise<readonly Service[]> {
    await raceAbort(this.#synced.promise, signal);
    return [...this.#services.values()];
  }

  /** Calls `onChange` after each change. Returns a function that unsubscribes it. */
  subscribe(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    return () => this.#listeners.delete(onChange);
  }

  /** Watches Services until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, clock, random, logger } = this.#options;
    const reflector = new Reflector<Service>({ client, resource: SERVICES, clock, random });
    for await (const event of reflector.events(signal)) {
      switch (event.kind) {
        case 'resync':
          this.#services.clear();
          for (const service of event.objects) this.#services.set(keyOf(service), service);
          this.#synced.resolve();
          break;
        case 'changes':
          for (const { kind, object } of event.changes) {
            if (kind === 'gone') this.#services.delete(keyOf(object));
            else this.#services.set(keyOf(object), object);
          }
          break;
        case 'failed':
          logger.debug({ phase: event.phase, reason: errorMessage(event.error) }, 'watching Services failed');
          break;
      }
      for (const onChange of this.#listeners) onChange();
    }
  }
}

function keyOf({ metadata }: Service): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}
