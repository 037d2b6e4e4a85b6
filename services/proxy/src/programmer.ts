import { type Clock, ControlLoop, errorMessage, type Random, Signal } from '@gantry/base';
import type { ChangeLoop, RunningChanges } from '@gantry/controller-runtime';
import type { Counter, Histogram, Logger } from '@gantry/service';
import type { ClusterView, HostState, Update } from './cluster-view.ts';
import type { Nft } from './nft/nft.ts';
import type { PolicyView } from './policy/policy-view.ts';
import type { RuleBook, TableChange } from './rules/rule-book.ts';
import { CLIENTS, type FlowTargets, formatClients, readClients } from './rules/stale-flows.ts';
import { formatChange, formatDeletions, formatReplacement } from './rules/transaction.ts';

export interface ProgrammerOptions {
  readonly table: string;
  readonly skeleton: string;
  readonly view: ClusterView;
  /** Adds changes to the book, in several turns of the event loop. Returns false if some changes wait for the next call. */
  readonly policies: Pick<PolicyView, 'synchronize' | 'catchUp'>;
  readonly book: RuleBook;
  readonly nft: Pick<Nft, 'apply' | 'listSets'>;
  /** Called with the addresses whose rules have changed in the kernel. Does not wait. */
  readonly cleanFlows: (targets: FlowTargets) => void;
  /** Called with the wanted state of the host, after its rules are in the kernel. Does not wait. */
  readonly keepHost: (host: HostState) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: ProgrammerMetrics;
  /** The record of what the programmer does. Its owner reports the changes of the caches to it. */
  readonly loop: Pick<ChangeLoop, 'begin'>;
}

export interface ProgrammerMetrics {
  /** The duration of a transaction in seconds, by `kind`: `replacement` or `change`. */
  readonly seconds: Histogram;
  readonly failures: Counter;
  /** The seconds from a pod's change to its rules. */
  readonly latency: Histogram;
}

/** Kernels before 6.2 treat a chain as used for a moment after the last element that leads to it is gone. */
const STALE_MS = 1000;
const RETRY = { initialMs: 200, maxMs: 10_000 };

/**
 * Writes the wanted table into the kernel: first the whole table, then the changes, each in one transaction. After a failure, or a change
 * by another program, it replaces the whole table. Packets are not affected by that.
 */
export class Programmer {
  readonly #options: ProgrammerOptions;
  readonly #work = new Signal();
  /** Unused chains, each with the monotonic time since when nothing leads to it. */
  readonly #staleChains = new Map<string, number>();
  /** The addresses whose clients have to choose a new endpoint after the rules are written. They are kept until then. */
  readonly #flows = new Map<string, ReadonlySet<string>>();
  /** The wanted state of the host after the rules are written. */
  #host: HostState | undefined;
  #isReplacing = true;
  #isDone = false;
  #isFailing = false;
  /** A replacement that kept the clients of the previous table has failed. The next one omits them. */
  #areClientsRefused = false;

  constructor(options: ProgrammerOptions) {
    this.#options = options;
  }

  /** Whether the whole table has been in the kernel once. */
  get isProgrammed(): boolean {
    return this.#isDone;
  }

  /** Whether the last transaction has succeeded. */
  get isHealthy(): boolean {
    return this.#isDone && !this.#isFailing;
  }

  /** Reports that there may be changes. Bound, so that it can be passed as a listener. */
  readonly notify = (): void => this.#work.notify();

  /** Replaces the whole table as soon as possible. */
  replaceAll(): void {
    this.#isReplacing = true;
    this.#work.notify();
  }

  /** Writes rules until the signal is aborted. The caches must have been listed. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, metrics, loop } = this.#options;
    await new ControlLoop({
      round: async () => {
        const running = loop.begin();
        try {
          await this.#program(running, signal);
        } catch (error) {
          running.ended(error);
          throw error;
        }
        running.ended();
        this.#isFailing = false;
        return this.#staleChains.size > 0 ? STALE_MS : Infinity;
      },
      work: this.#work,
      retry: RETRY,
      retryOn: 'time',
      onError: (error) => {
        this.#isFailing = true;
        this.#isReplacing = true;
        metrics.failures.inc();
        logger.error({ reason: errorMessage(error) }, 'rules were refused');
      },
      clock,
      random,
    }).run(signal);
  }

  async #program(running: RunningChanges, signal: AbortSignal): Promise<void> {
    const { view, policies, book, table, skeleton } = this.#options;
    const areDone = this.#isDone ? await policies.synchronize(signal) : await policies.catchUp(signal);
    if (!areDone) this.#work.notify();
    const update = view.update();
    for (const [address, endpoints] of update.flows) this.#flows.set(address, endpoints);
    this.#host = update.host ?? this.#host;
    if (this.#isReplacing) {
      this.#isReplacing = false;
      this.#staleChains.clear();
      book.forgetApplied();
      const change = book.takeChange();
      const sets = change?.newSets ?? new Map<string, string>();
      const clients = this.#areClientsRefused ? '' : await this.#clientsOf(sets, signal);
      this.#areClientsRefused = clients !== '';
      await this.#apply('replacement', `${formatReplacement(table, skeleton, change)}${clients}`, signal);
      running.took('the whole table was written');
      this.#areClientsRefused = false;
      this.#isDone = true;
    } else {
      await this.#deleteStaleChains(signal);
      const change = book.takeChange();
      if (change !== undefined) {
        for (const name of change.chains.keys()) this.#staleChains.delete(name);
        await this.#apply('change', formatChange(table, change), signal);
        running.took(describe(change));
        const now = this.#options.clock.monotonicMs();
        for (const name of change.goneChains) this.#staleChains.set(name, now);
      }
    }
    this.#finish(update);
  }

  /**
   * Returns commands that give the new table's sets the clients of the previous table. So clients with session affinity keep their
   * endpoints.
   */
  async #clientsOf(sets: ReadonlyMap<string, string>, signal: AbortSignal): Promise<string> {
    if (![...sets.keys()].some((name) => name.startsWith(CLIENTS))) return '';
    const { nft, table } = this.#options;
    return formatClients(table, readClients(await nft.listSets(signal), table), sets);
  }

  async #apply(kind: 'replacement' | 'change', commands: string, signal: AbortSignal): Promise<void> {
    const { nft, clock, logger, metrics } = this.#options;
    const start = clock.monotonicMs();
    await nft.apply(commands, signal);
    const took = clock.monotonicMs() - start;
    metrics.seconds.observe(took / 1000, { kind });
    logger.debug({ kind, bytes: commands.length, tookMs: Math.round(took) }, 'rules written');
  }

  #finish({ triggeredAt }: Update): void {
    const { clock, metrics, cleanFlows, keepHost } = this.#options;
    for (const at of triggeredAt) metrics.latency.observe(Math.max(0, clock.now() - at) / 1000);
    if (this.#flows.size > 0) cleanFlows(new Map(this.#flows));
    this.#flows.clear();
    if (this.#host !== undefined) keepHost(this.#host);
    this.#host = undefined;
  }

  async #deleteStaleChains(signal: AbortSignal): Promise<void> {
    const due = this.#options.clock.monotonicMs() - STALE_MS;
    const names = [...this.#staleChains].filter(([, since]) => since <= due).map(([name]) => name);
    if (names.length === 0) return;
    await this.#options.nft.apply(formatDeletions(this.#options.table, names), signal);
    for (const name of names) this.#staleChains.delete(name);
  }
}

function describe({ chains, newElements, goneElements, goneChains }: TableChange): string {
  return `wrote ${chains.size} chains and ${newElements.length} elements, removed ${goneChains.length} and ${goneElements.length}`;
}
