import type { Pod } from '@gantry/objects';
import type { PodInfo } from '../framework/pod-info.ts';

const NO_PODS: readonly PodInfo[] = [];

/**
 * Which pods are nominated to which nodes during a cycle. The decisions of the cycle change this, but not the snapshot that it began with.
 */
export class Nominations {
  readonly #byNode: Map<string, readonly PodInfo[]>;
  readonly #nodeOf = new Map<string, string>();

  constructor(byNode: ReadonlyMap<string, readonly PodInfo[]>) {
    this.#byNode = new Map(byNode);
    for (const [nodeName, pods] of byNode) for (const { key } of pods) this.#nodeOf.set(key, nodeName);
  }

  /** The name of the node that a pod is nominated to, or ''. */
  nodeOf({ key }: PodInfo): string {
    return this.#nodeOf.get(key) ?? '';
  }

  /** The nominated pods that keep their room on a node when `pod` is decided on: other pods with the same priority or a higher one. */
  before(pod: PodInfo, nodeName: string): readonly PodInfo[] {
    // A fast path: most cycles have no nominations, and this runs for each pod and node.
    if (this.#byNode.size === 0) return NO_PODS;
    const nominated = this.#byNode.get(nodeName);
    if (nominated === undefined) return NO_PODS;
    return nominated.filter(({ key, priority }) => key !== pod.key && priority >= pod.priority);
  }

  /** Nominates a pod to a node. Pods of lower priority lose their nomination to that node. Returns those pods. */
  nominate(pod: PodInfo, nodeName: string): readonly PodInfo[] {
    this.withdraw(pod);
    const displaced = (this.#byNode.get(nodeName) ?? NO_PODS).filter(({ priority }) => priority < pod.priority);
    for (const other of displaced) this.withdraw(other);
    this.#byNode.set(nodeName, [...(this.#byNode.get(nodeName) ?? NO_PODS), pod]);
    this.#nodeOf.set(pod.key, nodeName);
    return displaced;
  }

  /** Ends the pod's nomination. */
  withdraw({ key }: PodInfo): void {
    const nodeName = this.#nodeOf.get(key);
    if (nodeName === undefined) return;
    this.#nodeOf.delete(key);
    const left = (this.#byNode.get(nodeName) ?? NO_PODS).filter((other) => other.key !== key);
    if (left.length === 0) this.#byNode.delete(nodeName);
    else this.#byNode.set(nodeName, left);
  }
}

/** The reason in the condition `DisruptionTarget` of a pod that the scheduler preempts. */
export const PREEMPTION_REASON = 'PreemptionByScheduler';

/** Whether a pod has the condition that marks it as preempted by the scheduler. */
export function isMarkedForPreemption({ status }: Pod): boolean {
  const target = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  return target?.status === 'True' && target.reason === PREEMPTION_REASON;
}
