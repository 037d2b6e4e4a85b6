import { type Clock, errorMessage, Signal } from '@gantry/base';
import { ignoreReasons, type ObjectWriter } from '@gantry/client';
import type { Cache, EventRecorder } from '@gantry/controller-runtime';
import { equalJson, type Ingress, INGRESSES, type IngressLoadBalancerIngress, keyOf } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { Refusal } from '../rules/backend.ts';

interface ReportsOptions {
  readonly client: Pick<ObjectWriter, 'patch'>;
  readonly cache: Cache;
  readonly events: EventRecorder;
  readonly address: PublishedAddress;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The Ingresses whose status is written, and the refusals that become Events. */
export interface Report {
  readonly served: readonly Ingress[];
  readonly refusals: readonly { readonly ingress: Ingress; readonly refusal: Refusal }[];
}

const RETRY_MS = 2000;
const AT_ONCE = 8;

/**
 * Writes the status of Ingresses, and Events about the parts that are not served. Each Event is written once, as long as its reason
 * lasts. Serving does not wait for this.
 */
export class Reports {
  readonly #options: ReportsOptions;
  readonly #work = new Signal();
  /** The texts of the Events by the uid of the Ingress. */
  #reported = new Map<string, ReadonlySet<string>>();
  #report: Report = { served: [], refusals: [] };

  constructor(options: ReportsOptions) {
    this.#options = options;
  }

  /** Replaces the report. */
  put(report: Report): void {
    this.#report = report;
    this.#work.notify();
  }

  /** Writes each new report until the signal is aborted. Failures are logged and tried again. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#writeEvents();
      const left = await this.#writeStatuses(signal);
      await this.#work.wait(this.#options.clock, left === 0 ? Number.POSITIVE_INFINITY : RETRY_MS, signal);
    }
  }

  #writeEvents(): void {
    const now = new Map<string, Set<string>>();
    for (const { ingress, refusal } of this.#report.refusals) {
      const uid = ingress.metadata.uid ?? '';
      const texts = now.get(uid) ?? new Set();
      now.set(uid, texts);
      const text = `${refusal.reason} ${refusal.message}`;
      if (texts.has(text)) continue;
      texts.add(text);
      if (this.#reported.get(uid)?.has(text) === true) continue;
      this.#options.events.event(ingress, 'Warning', refusal.reason, refusal.message);
    }
    this.#reported = now;
  }

  /** Returns the number of statuses that could not be written. */
  async #writeStatuses(signal: AbortSignal): Promise<number> {
    const { client, cache, address, logger } = this.#options;
    let left = 0;
    const write = async (wanted: Ingress) => {
      try {
        // This is a patch, because the cache holds only a part of the object.
        const { metadata, status } = wanted;
        const merge = { metadata: { uid: metadata.uid }, status: { loadBalancer: status?.loadBalancer } };
        await ignoreReasons(client.patch(INGRESSES, keyOf(wanted), { merge, subresource: 'status' }, signal), [
          'NotFound',
        ]);
      } catch (error) {
        left += 1;
        logger.debug({ ingress: keyOf(wanted), reason: errorMessage(error) }, 'a status was not written');
      }
    };
    const wanted = this.#report.served.flatMap((served) => {
      const known = cache.get(INGRESSES, keyOf(served));
      return (known === undefined ? undefined : planStatus(known, address)) ?? [];
    });
    for (let index = 0; index < wanted.length && !signal.aborted; index += AT_ONCE) {
      await Promise.all(wanted.slice(index, index + AT_ONCE).map(write));
    }
    return left;
  }
}

/** The address and ports at which clients on the host reach the proxy. */
interface PublishedAddress {
  readonly address: string;
  readonly httpPort: number;
  readonly httpsPort: number;
}

/** Returns the Ingress with the wanted status, or undefined if it already has it. */
function planStatus(ingress: Ingress, { address, httpPort, httpsPort }: PublishedAddress): Ingress | undefined {
  const ports = [httpPort, httpsPort].map((port) => ({ port, protocol: 'TCP' }));
  const wanted: IngressLoadBalancerIngress[] = [{ ip: address, ports }];
  if (equalJson(ingress.status?.loadBalancer?.ingress, wanted)) return undefined;
  return { ...ingress, status: { ...ingress.status, loadBalancer: { ingress: wanted } } };
}
