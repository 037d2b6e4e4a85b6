import { labelSelectorFrom, type PodDisruptionBudget, type Selector } from '@gantry/objects';
import type { PodInfo } from '../framework/pod-info.ts';

interface Entry {
  readonly selector: Selector;
  /** The keys are the names of pods whose disruption the budget has counted already. */
  readonly disrupted: Readonly<Record<string, unknown>>;
  allowed: number;
}

/** Keeps count of the disruptions that PodDisruptionBudgets still allow. */
export class BudgetLedger {
  readonly #byNamespace: ReadonlyMap<string, readonly Entry[]>;
  readonly #matching = new Map<PodInfo, readonly Entry[]>();

  constructor(budgets: readonly PodDisruptionBudget[]) {
    const byNamespace = new Map<string, Entry[]>();
    for (const { metadata, spec, status } of budgets) {
      const selector = labelSelectorFrom(spec?.selector);
      // An empty selector selects no pods here, as in Kubernetes' scheduler.
      if (selector.empty || selector.nothing) continue;
      const entry = { selector, disrupted: status?.disruptedPods ?? {}, allowed: status?.disruptionsAllowed ?? 0 };
      const others = byNamespace.get(metadata.namespace ?? '');
      if (others === undefined) byNamespace.set(metadata.namespace ?? '', [entry]);
      else others.push(entry);
    }
    this.#byNamespace = byNamespace;
  }

  /** Returns the pods whose disruption would violate a budget, if the pods are disrupted in this order. */
  violating(pods: readonly PodInfo[]): ReadonlySet<PodInfo> {
    const violating = new Set<PodInfo>();
    if (this.#byNamespace.size === 0) return violating;
    const left = new Map<Entry, number>();
    for (const pod of pods) {
      for (const entry of this.#entriesOf(pod)) {
        const rest = (left.get(entry) ?? entry.allowed) - 1;
        left.set(entry, rest);
        if (rest < 0) violating.add(pod);
      }
    }
    return violating;
  }

  /** Notes that the pods will be disrupted, so that their budgets allow less from now on. */
  spend(pods: readonly PodInfo[]): void {
    for (const pod of pods) for (const entry of this.#entriesOf(pod)) entry.allowed -= 1;
  }

  #entriesOf(pod: PodInfo): readonly Entry[] {
    const known = this.#matching.get(pod);
    if (known !== undefined) return known;
    const { namespace = '', name = '', labels = {} } = pod.pod.metadata;
    const entries = (this.#byNamespace.get(namespace) ?? []).filter(
      // No budget selects a pod without labels.
      ({ selector, disrupted }) =>
        Object.keys(labels).length > 0 && selector.matches(labels) && !Object.hasOwn(disrupted, name),
    );
    this.#matching.set(pod, entries);
    return entries;
  }
}
