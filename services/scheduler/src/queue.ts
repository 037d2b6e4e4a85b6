import { backoffAfter } from '@gantry/client';
import { backoffMs, type BackoffOptions, type CancelTimer, type Clock, type Random, Signal } from '@gantry/base';
import { ActivePods, type Waiting } from './active-pods.ts';
import type { PodInfo } from './framework/pod-info.ts';

export interface QueueOptions {
  readonly clock: Clock;
  readonly random: Random;
}

interface Entry extends Waiting {
  info: PodInfo;
  attempts: number;
  /** The monotonic time, in milliseconds, before which the pod is not tried again. */
  notBeforeMs: number;
  state: 'active' | 'backoff' | 'unschedulable' | 'in-flight' | 'binding' | 'removed';
  /** Whether it is in `#active`, where it stays until it is taken out, also when it is not active any more. */
  isQueued: boolean;
  /** The plugins that refused the pod. Their `helps` decides when the pod is tried again. */
  refusedBy: ReadonlySet<string>;
  /** Whether the pod itself changed while it was being decided on. */
  changed: 'no' | 'yes';
  /** How many of the kept changes of the cluster had happened before the pod was taken. */
  changesBefore: number;
}

/** Whether a change of the cluster may help a pod that was refused by these plugins. */
type Helps = (info: PodInfo, refusedBy: ReadonlySet<string>) => boolean;

/** As in Kubernetes: the delay starts at one second and doubles up to ten seconds. */
const BACKOFF: BackoffOptions = { initialMs: 1000, maxMs: 10_000, jitter: 0 };
/** An unschedulable pod is tried again after this time, even when no change seemed to help. */
const MAX_UNSCHEDULABLE_MS = 300_000;

/**
 * The pods that wait for a node. `active` pods are decided on next, by priority and then by age. `backoff` pods become active after a
 * delay. `unschedulable` pods become active after a change that may help, or after five minutes. A pod in flight is being decided on; a
 * `binding` one has a node, and its binding is being written.
 */
export class SchedulingQueue {
  readonly #options: QueueOptions;
  readonly #entries = new Map<string, Entry>();
  #active = new ActivePods<Entry>();
  readonly #backoff = new Set<Entry>();
  readonly #unschedulable = new Set<Entry>();
  #activeCount = 0;
  #arrivals = 0;
  readonly #deciding = new Set<Entry>();
  /**
   * The changes of the cluster since the pods that are now being decided on were taken. They are kept because the plugins that refuse such
   * a pod are known only afterwards.
   */
  #changes: Helps[] = [];
  #cancelTimer: CancelTimer | undefined;
  #timerDueMs = Number.POSITIVE_INFINITY;
  readonly #activated = new Signal();

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** How many pods wait, by state. */
  counts(): Readonly<Record<'active' | 'backoff' | 'unschedulable', number>> {
    return { active: this.#activeCount, backoff: this.#backoff.size, unschedulable: this.#unschedulable.size };
  }

  /** Adds a pod or a new version of it. A refused pod whose new version may fit is tried again. */
  put(info: PodInfo): void {
    const known = this.#entries.get(info.key);
    if (known === undefined || known.info.uid !== info.uid) {
      this.remove(info.key);
      const entry: Entry = {
        info,
        addedMs: this.#options.clock.monotonicMs(),
        number: (this.#arrivals += 1),
        attempts: 0,
        notBeforeMs: 0,
        state: 'removed',
        isQueued: false,
        refusedBy: new Set(),
        changed: 'no',
        changesBefore: 0,
      };
      this.#entries.set(info.key, entry);
      this.#setState(entry, 'active');
      this.#activated.notify();
      return;
    }
    const changed = schedulingFacts(known.info) !== schedulingFacts(info);
    known.info = info;
    if (changed) this.#revive(known);
  }

  /** The newest known version of a waiting pod. */
  find(key: string): PodInfo | undefined {
    return this.#entries.get(key)?.info;
  }

  /** Removes a pod that has a node now or was deleted. */
  remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#setState(entry, 'removed');
  }

  clear(): void {
    this.#entries.clear();
    this.#active = new ActivePods();
    this.#activeCount = 0;
    this.#backoff.clear();
    this.#unschedulable.clear();
    this.#deciding.clear();
    this.#changes = [];
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerDueMs = Number.POSITIVE_INFINITY;
  }

  /** Takes up to `limit` active pods. For each of them, `refused`, `waits`, `postpone`, `binds` or `failed` has to be called, unless `remove` is. */
  take(limit: number): readonly PodInfo[] {
    this.#promote();
    const taken: Entry[] = [];
    while (taken.length < limit) {
      const entry = this.#active.shift();
      if (entry === undefined) break;
      entry.isQueued = false;
      if (entry.state !== 'active') continue;
      taken.push(entry);
      this.#setState(entry, 'in-flight');
      entry.changed = 'no';
      entry.changesBefore = this.#changes.length;
      entry.attempts += 1;
    }
    return taken.map((entry) => entry.info);
  }

  /** Resolves when there are active pods or the signal is aborted. */
  async wait(signal: AbortSignal): Promise<void> {
    this.#promote();
    while (!signal.aborted && this.#activeCount === 0) {
      await this.#activated.wait(this.#options.clock, Number.POSITIVE_INFINITY, signal);
    }
  }

  /** Reports that no node fits the pod now. */
  refused(info: PodInfo, plugins: ReadonlySet<string>): void {
    const entry = this.#inFlight(info);
    if (entry === undefined) return;
    const isHelped = this.#wasHelped(entry, plugins);
    entry.refusedBy = plugins;
    this.#delay(entry);
    this.#setState(entry, isHelped ? 'backoff' : 'unschedulable');
    this.#arm(entry.notBeforeMs + (entry.state === 'backoff' ? 0 : MAX_UNSCHEDULABLE_MS));
  }

  /** Reports that what the pod needs is being made. It is tried again without delay after a change that may help. */
  waits(info: PodInfo, plugins: ReadonlySet<string>): void {
    const entry = this.#inFlight(info);
    if (entry === undefined) return;
    const isHelped = this.#wasHelped(entry, plugins);
    entry.refusedBy = plugins;
    entry.notBeforeMs = this.#options.clock.monotonicMs();
    this.#setState(entry, isHelped ? 'active' : 'unschedulable');
    this.#arm(entry.notBeforeMs + MAX_UNSCHEDULABLE_MS);
  }

  /** Reports that the pod has a node, and that its binding is written now. Afterwards `failed` or `remove` has to be called. */
  binds(info: PodInfo): void {
    const entry = this.#inFlight(info);
    if (entry !== undefined) this.#setState(entry, 'binding');
  }

  /** Leaves the pod to the next cycle. */
  postpone(info: PodInfo): void {
    const entry = this.#inFlight(info);
    if (entry === undefined) return;
    this.#setState(entry, 'active');
    entry.attempts -= 1;
  }

  /** Reports that the attempt failed for a reason that has nothing to do with the pod. `error`: see `backoffAfter`. */
  failed(info: PodInfo, error?: unknown): void {
    const entry = this.#inFlight(info);
    if (entry === undefined) return;
    this.#delay(entry, error);
    this.#setState(entry, 'backoff');
    this.#arm(entry.notBeforeMs);
  }

  /**
   * Makes those refused pods active again for which `helps` returns true, given the plugins that refused them. For pods that are being
   * decided on, this is checked when they are refused.
   */
  move(helps: Helps): void {
    for (const entry of this.#unschedulable) if (helps(entry.info, entry.refusedBy)) this.#revive(entry);
    if (this.#deciding.size > 0) this.#changes.push(helps);
  }

  /** Whether, while the pod was being decided on, it changed or the cluster changed in a way that may help it. */
  #wasHelped(entry: Entry, plugins: ReadonlySet<string>): boolean {
    if (entry.changed === 'yes') return true;
    for (let i = entry.changesBefore; i < this.#changes.length; i++)
      if (this.#changes[i]?.(entry.info, plugins) === true) return true;
    return false;
  }

  #setState(entry: Entry, state: Entry['state']): void {
    this.#activeCount += Number(state === 'active') - Number(entry.state === 'active');
    entry.state = state;
    if (state === 'active' && !entry.isQueued) {
      entry.isQueued = true;
      this.#active.push(entry);
    }
    if (state === 'backoff') this.#backoff.add(entry);
    else this.#backoff.delete(entry);
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
    const isTaken = entry?.state === 'in-flight' || entry?.state === 'binding';
    return isTaken && entry.info.uid === info.uid ? entry : undefined;
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

  #delay(entry: Entry, error?: unknown): void {
    const { clock, random } = this.#options;
    entry.notBeforeMs = clock.monotonicMs() + backoffMs(backoffAfter(error, BACKOFF), entry.attempts, random);
  }

  /** Makes those pods active whose delay is over. */
  #promote(): void {
    const now = this.#options.clock.monotonicMs();
    for (const entry of this.#backoff) if (entry.notBeforeMs <= now) this.#setState(entry, 'active');
    for (const entry of this.#unschedulable)
      if (entry.notBeforeMs + MAX_UNSCHEDULABLE_MS <= now) this.#setState(entry, 'active');
  }

  /** Sets the timer so that `wait` looks again at `dueMs` at the latest. */
  #arm(dueMs: number): void {
    if (dueMs >= this.#timerDueMs) return;
    this.#cancelTimer?.();
    this.#timerDueMs = dueMs;
    this.#cancelTimer = this.#options.clock.setTimer(dueMs - this.#options.clock.monotonicMs(), () => {
      this.#timerDueMs = Number.POSITIVE_INFINITY;
      this.#promote();
      this.#activated.notify();
      for (const entry of this.#backoff) this.#arm(entry.notBeforeMs);
      for (const entry of this.#unschedulable) this.#arm(entry.notBeforeMs + MAX_UNSCHEDULABLE_MS);
    });
  }
}

/** The fields of a pod that affect whether it fits. */
function schedulingFacts({ pod }: PodInfo): string {
  const { nodeSelector, tolerations, affinity, topologySpreadConstraints, schedulingGates } = pod.spec ?? {};
  const { labels } = pod.metadata;
  return JSON.stringify([labels, nodeSelector, tolerations, affinity, topologySpreadConstraints, schedulingGates]);
}
