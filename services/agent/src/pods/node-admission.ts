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

/** Pods that are judged in one turn of the event loop: there may be thousands that name the node. */
const PER_TURN = 16;

/**
 * Which pods a node takes, as kubelet's admission decides. A pod is judged once, before anything of it is created, against the Node of
 * that moment and the pods that were admitted: a Node's amounts become smaller when agents are added to its host, and no pod that
 * runs is lost by that.
 */
export class NodeAdmission {
  readonly #options: NodeAdmissionOptions;
  /** By the uids of pods that have a worker. Victims are those that are still to be preempted. */
  readonly #verdicts = new Map<string, Verdict>();
  /** Who reads the Node and judges: one pod for all that wait. */
  readonly #turns = new Slots(1);
  #waiting = 0;

  constructor(options: NodeAdmissionOptions) {
    this.#options = options;
  }

  /** Why the node rejects a pod; undefined when it does not. `state` is what the engine has of the pod. */
  async judge(pod: Pod, state: PodState | undefined, signal: AbortSignal): Promise<PodRejection | undefined> {
    const { uid = '', deletionTimestamp } = pod.metadata;
    const known = this.#verdicts.get(uid);
    if (known === undefined && deletionTimestamp !== undefined) return undefined;
    // What this agent, or the one before, has created or reported was admitted. A pod that was judged in another's turn may be such a one.
    const isOld = state !== undefined || (known === undefined && pod.status?.startTime !== undefined);
    const verdict = isOld ? ADMITTED : (known ?? (await this.#decide(pod, signal)));
    if (verdict.kind === 'rejected') return verdict.rejection;
    this.#verdicts.set(uid, ADMITTED);
    // It may have been deleted, or have gone, since it was judged: then it needs no room.
    if (!this.#isWanted(uid)) return undefined;
    for (const victim of verdict.victims) this.#preempt(victim);
    return undefined;
  }

  /** The pod has no worker any more. */
  forget(uid: string): void {
    this.#verdicts.delete(uid);
  }

  async #decide(pod: Pod, signal: AbortSignal): Promise<Verdict> {
    // Where some wait for their turn there is no room for all. A static pod does not wait for the Node that they read.
    if ((this.#waiting === 0 || isStaticPod(pod)) && this.#hasRoomForAll(pod)) return this.#keep(pod, ADMITTED);
    this.#waiting += 1;
    try {
      return await this.#waitForTurn(pod, signal);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #waitForTurn(pod: Pod, signal: AbortSignal): Promise<Verdict> {
    // Static pods are run without API servers: they do not wait until the reads of others have failed.
    if (isStaticPod(pod)) return await this.#decideInTurn(pod, signal);
    return await this.#turns.use(() => this.#decideInTurn(pod, signal), signal);
  }

  /** Whether nothing speaks against a pod even if all older ones that have not been judged are admitted. */
  #hasRoomForAll(pod: Pod): boolean {
    const older = this.#undecided().filter((other) => byAge(other, pod) < 0);
    return this.#verdictBeside(pod, [...this.#admittedBeside(pod), ...older]) === ADMITTED;
  }

  /**
   * Judges all pods that wait for it, the oldest first, each of them once. No pod is rejected, and none is preempted, by a Node that was
   * read before the pod was seen.
   */
  async #decideInTurn(pod: Pod, signal: AbortSignal): Promise<Verdict> {
    const known = this.#verdictOf(pod);
    if (known !== undefined) return known;
    const waiting = this.#undecided().toSorted(byAge);
    const isRead = await this.#readNode(pod, signal);
    let judged = 0;
    for (const { metadata } of isRead ? waiting : waiting.filter(isStaticPod)) {
      const other = this.#options.pods.get(metadata.uid ?? '');
      // Some have gone, or were judged meanwhile.
      if (other === undefined || !this.#isUndecided(other)) continue;
      this.#keep(other, this.#verdictBeside(other, this.#admittedBeside(other)));
      judged += 1;
      if (judged % PER_TURN === 0) await turn();
      signal.throwIfAborted();
    }
    return this.#verdictOf(pod) ?? this.#keep(pod, this.#verdictBeside(pod, this.#admittedBeside(pod)));
  }

  /** Whether the Node could be read. */
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

  /** At once, so that no other pod is judged between a verdict and its being known. */
  #keep(pod: Pod, verdict: Verdict): Verdict {
    this.#verdicts.set(pod.metadata.uid ?? '', verdict);
    return verdict;
  }

  /** Admitted pods that have not ended, without the pod. */
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

  /** Whether a pod has not been judged: nothing was reported of it, and it is not to be deleted. */
  #isUndecided(pod: Pod): boolean {
    const { metadata, status } = pod;
    const isNew = status?.startTime === undefined && metadata.deletionTimestamp === undefined && !hasEnded(pod);
    return isNew && this.#verdictOf(pod) === undefined;
  }

  /** In kubelet's order: pressure, features, room, and what no room helps against. */
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

  /** Without what ends soon: pods that are evicted, and those that other critical pods are about to preempt. */
  #lasting(admitted: readonly Pod[]): readonly Pod[] {
    const verdicts = [...this.#verdicts.values()];
    const victims = verdicts.flatMap((verdict) => (verdict.kind === 'admitted' ? verdict.victims : []));
    const leaving = new Set(victims.map(({ metadata }) => metadata.uid ?? ''));
    const { evictions } = this.#options;
    return admitted.filter(
      ({ metadata: { uid = '' } }) => !leaving.has(uid) && evictions.evictionOf(uid) === undefined,
    );
  }

  /** Whether a pod is there, and is not to be deleted. */
  #isWanted(uid: string): boolean {
    const pod = this.#options.pods.get(uid);
    return pod !== undefined && pod.metadata.deletionTimestamp === undefined;
  }

  /** A victim that has gone, or is evicted for another reason, needs no eviction. */
  #preempt({ metadata: { uid = '' } }: Pod): void {
    const { pods, evictions } = this.#options;
    const victim = pods.get(uid);
    if (victim === undefined || hasEnded(victim) || evictions.evictionOf(uid) !== undefined) return;
    evictions.evict(victim, { message: PREEMPTED, graceSeconds: Infinity, cause: 'critical-pod' });
  }
}

/** Orders pods by their creation, the oldest first; those of the same second by uid. */
function byAge({ metadata: one }: Pod, { metadata: other }: Pod): number {
  const [created, otherCreated] = [one.creationTimestamp ?? '', other.creationTimestamp ?? ''];
  if (created !== otherCreated) return created < otherCreated ? -1 : 1;
  return (one.uid ?? '') < (other.uid ?? '') ? -1 : 1;
}
