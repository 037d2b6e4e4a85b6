import { setImmediate as turn } from 'node:timers/promises';
import { hasEnded, type Pod } from '@gantry/objects';
import type { Evictions } from '../eviction/evictions.ts';
import type { PressureManager } from '../eviction/pressure-manager.ts';
import type { NodeSource } from '../sources/node-source.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { PodState } from '../runtime/observer.ts';
import type { PodView } from '../sources/pod-source.ts';
import { isCriticalPod } from '../spec/critical-pod.ts';
import { mismatchOf, shortagesOf, type PortAddresses, unforwardedPort } from '../spec/node-fit.ts';
import { pressureRejection } from '../spec/node-pressure.ts';
import { type PodRejection, podRejection } from '../spec/pod-rejection.ts';
import { planPreemption, PREEMPTED } from '../spec/preemption.ts';
import { shortageRejection } from '../spec/shortage.ts';
import { isStaticPod } from '../spec/static-pod.ts';
import { Slots } from './slots.ts';

export interface NodeAdmissionOptions {
  readonly pods: Pick<PodView, 'get' | 'list'>;
  readonly node: Pick<NodeSource, 'known' | 'read'>;
  readonly engine: EngineInfo;
  readonly addresses: PortAddresses;
  readonly pressure: Pick<PressureManager, 'pressures'>;
  readonly evictions: Pick<Evictions, 'evict' | 'evictionOf'>;
}

type Verdict =
  | { readonly kind: 'admitted'; readonly victims: readonly Pod[] }
  | { readonly kind: 'rejected'; readonly rejection: PodRejection };

const ADMITTED: Verdict = { kind: 'admitted', victims: [] };

/** Pods that are judged before the event loop gets a turn; there may be thousands of pods with this node. */
const PER_TURN = 16;

/**
 * Decides which pods a node takes, like the kubelet's admission. Each pod is judged once, before anything of it is created, against the
 * current Node and the admitted pods. A Node's amounts shrink when agents are added to its host; running pods are not affected by that.
 */
export class NodeAdmission {
  readonly #options: NodeAdmissionOptions;
  /** Verdicts by the uid of pods with a worker. `victims` still have to be preempted. */
  readonly #verdicts = new Map<string, Verdict>();
  /** One pod at a time reads the Node and judges all waiting pods. */
  readonly #turns = new Slots(1);
  #waiting = 0;

  constructor(options: NodeAdmissionOptions) {
    this.#options = options;
  }

  /** Why the node rejects a pod; undefined when it is admitted. `state` is the engine's state of the pod. */
  async judge(pod: Pod, state: PodState | undefined, signal: AbortSignal): Promise<PodRejection | undefined> {
    const { uid = '', deletionTimestamp } = pod.metadata;
    const known = this.#verdicts.get(uid);
    if (known === undefined && deletionTimestamp !== undefined) return undefined;
    // A pod that this agent or an earlier one has created or reported was admitted, even if it was just judged in another pod's turn.
    const isOld = state !== undefined || (known === undefined && pod.status?.startTime !== undefined);
    const verdict = isOld ? ADMITTED : (known ?? (await this.#decide(pod, signal)));
    if (verdict.kind === 'rejected') return verdict.rejection;
    this.#verdicts.set(uid, ADMITTED);
    // A pod that was deleted since it was judged needs no room.
    if (!this.#isWanted(uid)) return undefined;
    for (const victim of verdict.victims) this.#preempt(victim);
    return undefined;
  }

  /** Call it when the pod has no worker any more. */
  forget(uid: string): void {
    this.#verdicts.delete(uid);
  }

  async #decide(pod: Pod, signal: AbortSignal): Promise<Verdict> {
    // While pods wait for their turn, there is not room for all. Static pods do not wait for a read of the Node.
    if ((this.#waiting === 0 || isStaticPod(pod)) && this.#hasRoomForAll(pod)) return this.#keep(pod, ADMITTED);
    this.#waiting += 1;
    try {
      return await this.#waitForTurn(pod, signal);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #waitForTurn(pod: Pod, signal: AbortSignal): Promise<Verdict> {
    // Static pods must run without API servers, so they do not wait for failing reads of other pods.
    if (isStaticPod(pod)) return await this.#decideInTurn(pod, signal);
    return await this.#turns.use(() => this.#decideInTurn(pod, signal), signal);
  }

  /** Whether the pod is admissible even if all older undecided pods are admitted. */
  #hasRoomForAll(pod: Pod): boolean {
    const older = this.#undecided().filter((other) => byAge(other, pod) < 0);
    return this.#verdictBeside(pod, [...this.#admittedBeside(pod), ...older]) === ADMITTED;
  }

  /**
   * Judges all waiting pods, oldest first, each once. A pod is rejected or preempted only based on a Node that was read after the pod was
   * seen.
   */
  async #decideInTurn(pod: Pod, signal: AbortSignal): Promise<Verdict> {
    const known = this.#verdictOf(pod);
    if (known !== undefined) return known;
    const waiting = this.#undecided().toSorted(byAge);
    const isRead = await this.#readNode(pod, signal);
    let judged = 0;
    for (const { metadata } of isRead ? waiting : waiting.filter(isStaticPod)) {
      const other = this.#options.pods.get(metadata.uid ?? '');
      // Some pods may be gone, or were judged meanwhile.
      if (other === undefined || !this.#isUndecided(other)) continue;
      this.#keep(other, this.#verdictBeside(other, this.#admittedBeside(other)));
      judged += 1;
      if (judged % PER_TURN === 0) await turn();
      signal.throwIfAborted();
    }
    return this.#verdictOf(pod) ?? this.#keep(pod, this.#verdictBeside(pod, this.#admittedBeside(pod)));
  }

  /** Returns whether the Node could be read. */
  async #readNode(pod: Pod, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#options.node.read(signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (!isStaticPod(pod)) throw error;
      return false;
    }
  }

  #verdictOf({ metadata: { uid = '' } }: Pod): Verdict | undefined {
    return this.#verdicts.get(uid);
  }

  /** Synchronous, so that no other pod is judged before this verdict is known. */
  #keep(pod: Pod, verdict: Verdict): Verdict {
    this.#verdicts.set(pod.metadata.uid ?? '', verdict);
    return verdict;
  }

  /** Admitted pods that have not ended, except the given pod. */
  #admittedBeside({ metadata: { uid } }: Pod): readonly Pod[] {
    const others = this.#options.pods.list().filter((other) => other.metadata.uid !== uid && !hasEnded(other));
    return others.filter((other) => this.#isAdmitted(other));
  }

  #undecided(): readonly Pod[] {
    return this.#options.pods.list().filter((other) => this.#isUndecided(other));
  }

  #isAdmitted(pod: Pod): boolean {
    const verdict = this.#verdictOf(pod);
    return verdict === undefined ? pod.status?.startTime !== undefined : verdict.kind === 'admitted';
  }

  /** Whether a pod has not been judged: it has no reported status and is not being deleted. */
  #isUndecided(pod: Pod): boolean {
    const { metadata, status } = pod;
    const isNew = status?.startTime === undefined && metadata.deletionTimestamp === undefined && !hasEnded(pod);
    return isNew && this.#verdictOf(pod) === undefined;
  }

  /** In the kubelet's order: pressure, features, resources, then the predicates that do not depend on resources. */
  #verdictBeside(pod: Pod, admitted: readonly Pod[]): Verdict {
    const { engine, pressure, addresses } = this.#options;
    const node = this.#options.node.known();
    const rejection =
      pressureRejection(pod, pressure.pressures()) ?? podRejection(pod, engine) ?? unforwardedPort(pod, addresses);
    if (rejection !== undefined) return { kind: 'rejected', rejection };
    const isCritical = isCriticalPod(pod);
    const lasting = isCritical ? this.#lasting(admitted) : admitted;
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

  /** Without pods that end soon: evicted ones, and victims of other critical pods. */
  #lasting(admitted: readonly Pod[]): readonly Pod[] {
    const verdicts = [...this.#verdicts.values()];
    const victims = verdicts.flatMap((verdict) => (verdict.kind === 'admitted' ? verdict.victims : []));
    const leaving = new Set(victims.map(({ metadata }) => metadata.uid ?? ''));
    const { evictions } = this.#options;
    return admitted.filter(
      ({ metadata: { uid = '' } }) => !leaving.has(uid) && evictions.evictionOf(uid) === undefined,
    );
  }

  /** Whether a pod exists and is not being deleted. */
  #isWanted(uid: string): boolean {
    const pod = this.#options.pods.get(uid);
    return pod !== undefined && pod.metadata.deletionTimestamp === undefined;
  }

  /** Skips a victim that is gone or is evicted already. */
  #preempt({ metadata: { uid = '' } }: Pod): void {
    const { pods, evictions } = this.#options;
    const victim = pods.get(uid);
    if (victim === undefined || hasEnded(victim) || evictions.evictionOf(uid) !== undefined) return;
    evictions.evict(victim, { message: PREEMPTED, graceSeconds: Infinity, cause: 'critical-pod' });
  }
}

/** Orders pods by creation time, oldest first; pods of the same second by uid. */
function byAge({ metadata: one }: Pod, { metadata: other }: Pod): number {
  const [created, otherCreated] = [one.creationTimestamp ?? '', other.creationTimestamp ?? ''];
  if (created !== otherCreated) return created < otherCreated ? -1 : 1;
  return (one.uid ?? '') < (other.uid ?? '') ? -1 : 1;
}
