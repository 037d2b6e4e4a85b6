import { backoffMs, type BackoffOptions, type CancelTimer, type Clock, type Random, Signal } from '@gantry/base';
import type { PodInfo } from './framework/pod-info.ts';

export interface QueueOptions {
  readonly clock: Clock;
  readonly random: Random;
}

interface Entry {
  info: PodInfo;
  readonly addedMs: number;
  attempts: number;
  /** Monotonic time of the next attempt. */
  notBeforeMs: number;
  state: 'active' | 'backoff' | 'unschedulable' | 'in-flight';
  /** Plugins that refused it; their hints decide when it is tried again. */
  refusedBy: ReadonlySet<string>;
  /** It has changed itself while it was being decided on. */
  changed: 'no' | 'yes';
  /** How many of the kept changes of the cluster came before it was taken. */
  changesBefore: number;
}

/** Whether a change of the cluster may help a pod that these plugins refused. */
type Helps = (info: PodInfo, refusedBy: ReadonlySet<string>) => boolean;

/** As in Kubernetes: a second, doubling to ten. */
const BACKOFF: BackoffOptions = { initialMs: 1000, maxMs: 10_000, jitter: 0 };
/** An unschedulable pod is tried again after this time, independent of hints. */
const MAX_UNSCHEDULABLE_MS = 300_000;

/**
 * Pods that wait for a node. `active` pods are decided next, by priority and then age; `backoff` pods after a delay;
 * `unschedulable` pods after a change that may help, or five minutes.
 */
export class SchedulingQueue {
  readonly #options: QueueOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #unschedulable = new Set<Entry>();
  readonly #deciding = new Set<Entry>();
  /** Changes since pods were taken that are being decided on: their plugins are known when they are refused. */
  #changes: Helps[] = [];
  #cancelTimer: CancelTimer | undefined;
  #timerDueMs = Number.POSITIVE_INFINITY;
  readonly #activated = new Signal();

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Pods by state, for metrics. */
  count(state: 'active' | 'backoff' | 'unschedulable'): number {
    let count = 0;
    for (const entry of this.#entries.values()) if (entry.state === state) count += 1;
    return count;
  }

  /** Adds a pod or its new version; a refused one may fit now. */
  put(info: PodInfo): void {
    const known = this.#entries.get(info.key);
    if (known === undefined || known.info.uid !== info.uid) {
      this.remove(info.key);
      this.#entries.set(info.key, {
        info,
        addedMs: this.#options.clock.monotonicMs(),
        attempts: 0,
        notBeforeMs: 0,
        state: 'active',
        refusedBy: new Set(),
        changed: 'no',
        changesBefore: 0,
      });
      this.#activated.notify();
      return;
    }
    const changed = schedulingFacts(known.info) !== schedulingFacts(info);
    known.info = info;
    if (changed) this.#revive(known);
  }

  /** The newest known version of a pod that waits. */
  find(key: string): PodInfo | undefined {
    return this.#entries.get(key)?.info;
  }

  /** The pod has a node or was deleted. */
  remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#unschedulable.delete(entry);
    this.#decided(entry);
  }

  clear(): void {
    this.#entries.clear();
    this.#unschedulable.clear();
    this.#deciding.clear();
    this.#changes = [];
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerDueMs = Number.POSITIVE_INFINITY;
  }

  /** Takes up to `limit` active pods. Call `settled`, `refused` or `failed` for each, unless it is removed. */
  take(limit: number): readonly PodInfo[] {
    this.#promote();
    const active = [...this.#entries.values()].filter((entry) => entry.state === 'active');
    active.sort((a, b) => b.info.priority - a.info.priority || a.addedMs - b.addedMs);
    const taken = active.slice(0, limit);
    for (const entry of taken) {
      this.#setState(entry, 'in-flight');
      entry.changed = 'no';
      entry.changesBefore = this.#changes.length;
      entry.attempts += 1;
    }
    return taken.map((entry) => entry.info);
  }

  /** Resolves when there are active pods, or the signal is aborted. */
  async wait(signal: AbortSignal): Promise<void> {
    this.#promote();
    while (!signal.aborted && this.count('active') === 0) {
      await this.#activated.wait(this.#options.clock, Number.POSITIVE_INFINITY, signal);
    }
  }

  /** No node fits now. */
  refused(info: PodInfo, plugins: ReadonlySet<string>): void {
    const entry = this.#inFlight(info);
    if (entry === undefined) return;
    const isHelped = this.#wasHelped(entry, plugins);
    entry.refusedBy = plugins;
    this.#delay(entry);
    this.#setState(entry, isHelped ? 'backoff' : 'unschedulable');
    this.#arm(entry.notBeforeMs + (entry.state === 'backoff' ? 0 : MAX_UNSCHEDULABLE_MS));
  }

  /** What it needs is being made: it is tried again, without delay, after a change that may help. */
  waits(info: PodInfo, plugins: ReadonlySet<string>): void {
    const entry = this.#inFlight(info);
    if (entry === undefined) return;
    const isHelped = this.#wasHelped(entry, plugins);
    entry.refusedBy = plugins;
    entry.notBeforeMs = this.#options.clock.monotonicMs();
    this.#setState(entry, isHelped ? 'active' : 'unschedulable');
    this.#arm(entry.notBeforeMs + MAX_UNSCHEDULABLE_MS);
  }

  /** It is left for the next cycle. */
  postpone(info: PodInfo): void {
    const entry = this.#inFlight(info);
    if (entry === undefined) return;
    this.#setState(entry, 'active');
    entry.attempts -= 1;
  }

  /** The attempt failed for a reason that is not the pod's. */
  failed(info: PodInfo): void {
    const entry = this.#inFlight(info);
    if (entry === undefined) return;
    this.#delay(entry);
    this.#setState(entry, 'backoff');
    this.#arm(entry.notBeforeMs);
  }

  /**
   * Makes refused pods active again for which `helps` holds, given the plugins that refused them; pods that are being decided on, when they
   * are refused.
   */
  move(helps: Helps): void {
    for (const entry of this.#unschedulable) if (helps(entry.info, entry.refusedBy)) this.#revive(entry);
    if (this.#deciding.size > 0) this.#changes.push(helps);
  }

  /** Whether the pod has changed while it was being decided on, or the cluster in a way that may help it. */
  #wasHelped(entry: Entry, plugins: ReadonlySet<string>): boolean {
    if (entry.changed === 'yes') return true;
    for (let i = entry.changesBefore; i < this.#changes.length; i++)
      if (this.#changes[i]?.(entry.info, plugins) === true) return true;
    return false;
  }

  #setState(entry: Entry, state: Entry['state']): void {
    entry.state = state;
    if (state === 'unschedulable') this.#unschedulable.add(entry);
    else this.#unschedulable.delete(entry);
    if (state === 'in-flight') this.#deciding.add(entry);
    else this.#decided(entry);
  }

  #decided(entry: Entry): void {
    this.#deciding.delete(entry);
    if (this.#deciding.size === 0 && this.#changes.length > 0) this.#changes = [];
  }

  #inFlight(info: PodInfo): Entry | undefined {
    const entry = this.#entries.get(info.key);
    return entry?.state === 'in-flight' && entry.info.uid === info.uid ? entry : undefined;
  }

  #revive(entry: Entry): void {
    if (entry.state === 'in-flight') {
      entry.changed = 'yes';
      return;
    }
    if (entry.state !== 'unschedulable') return;
    if (entry.notBeforeMs <= this.#options.clock.monotonicMs()) {
      this.#setState(entry, 'active');
      this.#activated.notify();
    } else {
      this.#setState(entry, 'backoff');
      this.#arm(entry.notBeforeMs);
    }
  }

  #delay(entry: Entry): void {
    const { clock, random } = this.#options;
    entry.notBeforeMs = clock.monotonicMs() + backoffMs(BACKOFF, entry.attempts, random);
  }

  /** Activates pods whose delay is over. */
  #promote(): void {
    const now = this.#options.clock.monotonicMs();
    for (const entry of this.#entries.values()) {
      const { state, notBeforeMs } = entry;
      const isDue =
        (state === 'backoff' && notBeforeMs <= now) ||
        (state === 'unschedulable' && notBeforeMs + MAX_UNSCHEDULABLE_MS <= now);
      if (isDue) this.#setState(entry, 'active');
    }
  }

  /** Ends `wait` at `dueMs` at the latest. */
  #arm(dueMs: number): void {
    if (dueMs >= this.#timerDueMs) return;
    this.#cancelTimer?.();
    this.#timerDueMs = dueMs;
    this.#cancelTimer = this.#options.clock.setTimer(dueMs - this.#options.clock.monotonicMs(), () => {
      this.#timerDueMs = Number.POSITIVE_INFINITY;
      this.#promote();
      this.#activated.notify();
      for (const entry of this.#entries.values()) {
        if (entry.state === 'backoff') this.#arm(entry.notBeforeMs);
        if (entry.state === 'unschedulable') this.#arm(entry.notBeforeMs + MAX_UNSCHEDULABLE_MS);
      }
    });
  }
}

/** The fields of a pod that affect whether it fits. */
function schedulingFacts({ pod }: PodInfo): string {
  const { nodeSelector, tolerations, affinity, topologySpreadConstraints, schedulingGates } = pod.spec ?? {};
  const { labels } = pod.metadata;
  return JSON.stringify([labels, nodeSelector, tolerations, affinity, topologySpreadConstraints, schedulingGates]);
}
