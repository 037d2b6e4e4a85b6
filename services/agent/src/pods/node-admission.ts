import { hasEnded, type Pod, type Node } from '@gantry/objects';
import type { Evictions } from '../eviction/evictions.ts';
import type { PressureManager } from '../eviction/pressure-manager.ts';
import type { NodeSource } from '../sources/node-source.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { PodState } from '../runtime/observer.ts';
import type { PodView } from '../sources/pod-source.ts';
import { isCriticalPod } from '../spec/critical-pod.ts';
import { mismatchOf, shortageRejection, shortagesOf } from '../spec/node-fit.ts';
import { pressureRejection } from '../spec/node-pressure.ts';
import { type PodRejection, podRejection } from '../spec/pod-rejection.ts';
import { planPreemption, PREEMPTED } from '../spec/preemption.ts';
import { isStaticPod } from '../spec/static-pod.ts';

export interface NodeAdmissionOptions {
  readonly pods: Pick<PodView, 'list'>;
  readonly node: NodeSource;
  readonly engine: EngineInfo;
  readonly pressure: Pick<PressureManager, 'pressures'>;
  readonly evictions: Pick<Evictions, 'evict' | 'evictionOf'>;
}

type Verdict =
  | { readonly kind: 'admitted'; readonly victims: readonly Pod[] }
  | { readonly kind: 'rejected'; readonly rejection: PodRejection };

const ADMITTED: Verdict = { kind: 'admitted', victims: [] };

/**
 * Which pods a node takes, as kubelet's admission decides. A pod is judged once, before anything of it is created, against the Node of
 * that moment and the pods that were admitted: a Node's amounts become smaller when agents are added to its host, and no pod that
 * runs is lost by that.
 */
export class NodeAdmission {
  readonly #options: NodeAdmissionOptions;
  /** By the uids of pods that have a worker. */
  readonly #verdicts = new Map<string, Verdict>();

  constructor(options: NodeAdmissionOptions) {
    this.#options = options;
  }

  /** Why the node rejects a pod; undefined when it does not. `state` is what the engine has of the pod. */
  async judge(pod: Pod, state: PodState | undefined, signal: AbortSignal): Promise<PodRejection | undefined> {
    const { uid = '', deletionTimestamp } = pod.metadata;
    const known = this.#verdicts.get(uid);
    if (known === undefined && deletionTimestamp !== undefined) return undefined;
    // What this agent, or the one before, has reported or created was admitted.
    const isOld = state !== undefined || pod.status?.startTime !== undefined;
    const verdict = known ?? (isOld ? ADMITTED : await this.#decide(pod, signal));
    this.#verdicts.set(uid, verdict);
    if (verdict.kind === 'rejected') return verdict.rejection;
    if (known === undefined) for (const victim of verdict.victims) this.#preempt(victim);
    return undefined;
  }

  /** The pod has no worker any more. */
  forget(uid: string): void {
    this.#verdicts.delete(uid);
  }

  /** No pod is rejected, and none is preempted, by an outdated Node. */
  async #decide(pod: Pod, signal: AbortSignal): Promise<Verdict> {
    const { node } = this.#options;
    const verdict = this.#verdict(pod, node.known());
    if (verdict === ADMITTED) return verdict;
    try {
      await node.read(signal);
    } catch (error) {
      signal.throwIfAborted();
      // Static pods are run without API servers.
      if (!isStaticPod(pod)) throw error;
    }
    return this.#verdict(pod, node.known());
  }

  /** Older pods that have not been judged come before: first as if all were admitted, and where that leaves no room one by one. */
  #verdict(pod: Pod, node: Node): Verdict {
    const others = this.#options.pods.list().filter((other) => other.metadata.uid !== pod.metadata.uid);
    const active = others.filter((other) => !hasEnded(other));
    const admitted = active.filter((other) => this.#isAdmitted(other));
    const older = active.filter((other) => this.#isUndecided(other) && ageOf(other) < ageOf(pod));
    const verdict = this.#verdictBeside(pod, node, [...admitted, ...older]);
    if (verdict === ADMITTED || older.length === 0) return verdict;
    for (const other of older.sort((one, two) => (ageOf(one) < ageOf(two) ? -1 : 1))) {
      if (this.#verdictBeside(other, node, admitted).kind === 'admitted') admitted.push(other);
    }
    return this.#verdictBeside(pod, node, admitted);
  }

  #isAdmitted({ metadata: { uid = '' }, status }: Pod): boolean {
    const verdict = this.#verdicts.get(uid);
    return verdict === undefined ? status?.startTime !== undefined : verdict.kind === 'admitted';
  }

  #isUndecided({ metadata: { uid = '', deletionTimestamp }, status }: Pod): boolean {
    return !this.#verdicts.has(uid) && status?.startTime === undefined && deletionTimestamp === undefined;
  }

  /** In kubelet's order: pressure, features, room, and what no room helps against. */
  #verdictBeside(pod: Pod, node: Node, admitted: readonly Pod[]): Verdict {
    const { engine, pressure, evictions } = this.#options;
    const rejection = pressureRejection(pod, pressure.pressures()) ?? podRejection(pod, engine);
    if (rejection !== undefined) return { kind: 'rejected', rejection };
    const isCritical = isCriticalPod(pod);
    // What was evicted for another critical pod ends soon.
    const lasting = isCritical
      ? admitted.filter(({ metadata }) => evictions.evictionOf(metadata.uid ?? '') === undefined)
      : admitted;
    const shortages = shortagesOf(pod, node, lasting);
    const [shortage] = shortages;
    if (shortage !== undefined && !isCritical) return { kind: 'rejected', rejection: shortageRejection(shortage) };
    const mismatch = mismatchOf(pod, node, admitted);
    if (mismatch !== undefined) return { kind: 'rejected', rejection: mismatch };
    if (shortage === undefined) return ADMITTED;
    const preemption = planPreemption(pod, lasting, shortages);
    if (preemption.kind === 'possible') return { kind: 'admitted', victims: preemption.victims };
    return { kind: 'rejected', rejection: { reason: 'UnexpectedAdmissionError', message: preemption.message } };
  }

  #preempt(victim: Pod): void {
    const eviction = { message: PREEMPTED, graceSeconds: Infinity, cause: 'critical-pod' } as const;
    this.#options.evictions.evict(victim, eviction);
  }
}

/** Orders pods by their creation; those of the same second by uid. */
const ageOf = ({ metadata: { creationTimestamp, uid = '' } }: Pod) => `${creationTimestamp ?? ''}/${uid}`;
