import { setTimeout as delay } from 'node:timers/promises';
import { type Deployment, DEPLOYMENTS, LEASES } from '@gantry/objects';
import { deadline, type MeasuredCluster } from './cluster.ts';

const EVERY_MS = 250;
/** A write or read of a busy cluster. */
const CALL_MS = 60_000;
const NAME = 'reconciled';

/** How often each elected component has got a leader, by the Leases that they keep in the API. */
export async function countTerms(api: MeasuredCluster['api']): Promise<ReadonlyMap<string, number>> {
  const { items } = await api.list(LEASES, { namespace: 'kube-system' }, deadline(CALL_MS));
  // The Lease of an API server is its own: it is not elected.
  const elected = items.filter(({ spec }) => spec?.leaseTransitions !== undefined);
  return new Map(elected.map(({ metadata, spec }) => [metadata.name ?? '', spec?.leaseTransitions ?? 0]));
}

/** The elections of each component between two counts. */
export function electionsBetween(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  return new Map([...after].map(([name, terms]) => [name, terms - (before.get(name) ?? terms)]));
}

/** Changes a Deployment without pods again and again, and measures how long the controller-manager takes to observe each change. */
export class Reconciles {
  readonly #api: MeasuredCluster['api'];
  readonly #namespace: string;
  longestMs = 0;
  count = 0;

  constructor(api: MeasuredCluster['api'], namespace: string) {
    this.#api = api;
    this.#namespace = namespace;
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#api.create(DEPLOYMENTS, this.#object(), deadline(CALL_MS));
    const key = { namespace: this.#namespace, name: NAME };
    while (!signal.aborted) {
      const seconds = 1 + (this.count % 2);
      try {
        const { metadata } = await this.#api.patch(
          DEPLOYMENTS,
          key,
          { merge: { spec: { minReadySeconds: seconds } } },
          deadline(CALL_MS),
        );
        const changedAt = performance.now();
        while ((await this.#observed()) < (metadata.generation ?? 0) && !signal.aborted) await delay(EVERY_MS);
        this.longestMs = Math.max(this.longestMs, performance.now() - changedAt);
        this.count += 1;
      } catch {
        // The API, not the controller-manager, is away; the next change measures again.
        await delay(EVERY_MS);
      }
    }
  }

  async #observed(): Promise<number> {
    const key = { namespace: this.#namespace, name: NAME };
    const { status } = await this.#api.get(DEPLOYMENTS, key, deadline(CALL_MS));
    return status?.observedGeneration ?? 0;
  }

  #object(): Deployment {
    const labels = { app: NAME };
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: NAME, namespace: this.#namespace },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'none', image: 'none' }] } },
      },
    };
  }
}
