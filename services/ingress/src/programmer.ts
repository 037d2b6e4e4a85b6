import { type Clock, ControlLoop, errorMessage, pause, type Random, Signal } from '@gantry/base';
import type { Counter, Histogram, Logger } from '@gantry/service';
import type { ClusterView } from './cluster-view.ts';
import type { ProxyState } from './haproxy/proxy-state.ts';
import type { Report } from './cluster/reports.ts';
import type { HostOwners } from './rules/hosts.ts';

/** The target of the programmer: HAProxy, or in tests a record of states. */
export interface Programmed {
  /** Whether work of the last state remains, so that `apply` has to be called again. */
  readonly rest: 'none' | 'soon' | 'later';
  /** The refused certificates of hosts, by name, with the reason. */
  readonly refusedCertificates: ReadonlyMap<string, string>;
  apply(state: ProxyState, signal: AbortSignal): Promise<'new worker' | 'same worker'>;
}

export interface ProgrammerOptions {
  readonly view: Pick<ClusterView, 'update' | 'renewed' | 'plan' | 'refusals' | 'isWaiting'>;
  readonly proxy: Programmed;
  /** Follows the Secrets of the plan. */
  readonly followSecrets: (keys: ReadonlySet<string>) => void;
  readonly areSecretsRead: () => boolean;
  readonly report: (report: Report) => void;
  /** Stores which namespace has which host. Does not reject. */
  readonly storeOwners: (owners: HostOwners) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: { readonly seconds: Histogram; readonly failures: Counter };
}

/**
 * After each change the programmer pauses for this multiple of its duration, so that other work gets its time however many Ingresses
 * change.
 */
const REST_SHARE = 3;
const MIN_REST_MS = 20;
/** How long to wait without a change, by the remaining work of the last one. */
const WAIT_MS = { none: Number.POSITIVE_INFINITY, soon: 0, later: 2000 };
/** How often to look for slots that have rested. */
const SLOT_MS = 10_000;
const SECRETS_MS = 3000;
const RETRY = { initialMs: 200, maxMs: 10_000 };

/** Keeps HAProxy up to date with the cluster. It makes one change at a time, from everything that has happened since the last one. */
export class Programmer {
  readonly #options: ProgrammerOptions;
  readonly #work = new Signal();
  #isProgrammed = false;

  constructor(options: ProgrammerOptions) {
    this.#options = options;
  }

  /** Whether HAProxy has started to serve. */
  get isProgrammed(): boolean {
    return this.#isProgrammed;
  }

  /** Reports that there may be changes. Bound, so that it can be passed as a listener. */
  readonly notify = (): void => this.#work.notify();

  /** Runs until the signal is aborted. The caches must have been listed. Rejects if HAProxy cannot be started. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, metrics } = this.#options;
    await this.#awaitSecrets(signal);
    await new ControlLoop({
      round: () => this.#programAndRest(signal),
      work: this.#work,
      retry: RETRY,
      retryOn: 'time',
      onError: (error) => {
        if (!this.#isProgrammed) throw error;
        metrics.failures.inc();
        logger.error({ reason: errorMessage(error) }, 'HAProxy was not changed');
      },
      clock,
      random,
    }).run(signal);
  }

  /** Returns after how many milliseconds to program again if nothing changes. */
  async #programAndRest(signal: AbortSignal): Promise<number> {
    const { clock, metrics, proxy, view } = this.#options;
    const start = clock.monotonicMs();
    await this.#program(signal);
    const tookMs = clock.monotonicMs() - start;
    metrics.seconds.observe(tookMs / 1000);
    await pause(clock, Math.max(MIN_REST_MS, tookMs * REST_SHARE), signal);
    return Math.min(WAIT_MS[proxy.rest], view.isWaiting ? SLOT_MS : WAIT_MS.none);
  }

  /** Waits for the Secrets. A start without the certificates would refuse clients that were served a moment ago. */
  async #awaitSecrets(signal: AbortSignal): Promise<void> {
    const { clock, view, followSecrets, areSecretsRead } = this.#options;
    const until = clock.monotonicMs() + SECRETS_MS;
    view.update(clock.monotonicMs());
    followSecrets(view.plan?.secrets ?? new Set());
    while (!areSecretsRead() && clock.monotonicMs() < until && !signal.aborted) {
      await this.#work.wait(clock, until - clock.monotonicMs(), signal);
    }
    // The first change includes everything that has happened.
    this.#work.clear();
  }

  async #program(signal: AbortSignal): Promise<void> {
    const { clock, view, proxy, followSecrets, report, storeOwners } = this.#options;
    const state = view.update(clock.monotonicMs());
    const { plan } = view;
    followSecrets(plan?.secrets ?? new Set());
    if ((await proxy.apply(state, signal)) === 'new worker') view.renewed();
    this.#isProgrammed = true;
    if (plan === undefined) return;
    report(withCertificates({ served: plan.served, refusals: view.refusals }, state, proxy.refusedCertificates));
    await storeOwners(plan.owners);
  }
}

/** Adds the certificates that only HAProxy refuses: they look valid, but are too weak for it. */
function withCertificates(
  { served, refusals }: Report,
  { certificates }: ProxyState,
  refused: ReadonlyMap<string, string>,
): Report {
  if (refused.size === 0) return { served, refusals };
  const whyOf = new Map(
    [...refused].flatMap(([name, why]) => (certificates.get(name)?.hosts ?? []).map((host) => [host, why])),
  );
  const more = served.flatMap((ingress) =>
    (ingress.spec?.tls ?? []).flatMap(({ hosts = [] }) =>
      hosts.flatMap((host) => {
        const why = whyOf.get(host);
        const message = `spec.tls: the certificate of ${JSON.stringify(host)} is refused by HAProxy: ${why}`;
        return why === undefined ? [] : [{ ingress, refusal: { reason: 'InvalidCertificate', message } }];
      }),
    ),
  );
  return { served, refusals: [...refusals, ...more] };
}
