import { formatTime } from '@gantry/base';
import type { ManualClock } from '@gantry/base/testing';
import { ignoreReasons, type ObjectClient } from '@gantry/client';
import {
  isFinalPhase,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  PODS,
  SELECTED_NODE,
} from '@gantry/objects';
import type { Activity, Dice } from '@gantry/controller-runtime/testing';
import { COMPLETION_INDEX } from '../../controllers/job/job-rules.ts';
import { registerNode } from './heartbeats.ts';
import { hostOf, isReclaimable, placePod } from './placement.ts';
import { isReady } from './readiness.ts';
import { type Change, isOf, type World } from './world.ts';

export interface NodesOptions {
  readonly client: ObjectClient;
  readonly world: World;
  readonly clock: ManualClock;
  readonly activity: Activity;
  readonly dice: Dice;
  /** Aborted when the simulation ends. */
  readonly signal: AbortSignal;
}

/** The annotations of a pod template with which a history decides what happens to the pods. */
export const POD_FATE = {
  /** `never`: the pod does not become ready. */
  ready: 'simulation.gantry.dev/ready',
  /** How many of a Job's pods fail before the others succeed. */
  fails: 'simulation.gantry.dev/fails',
  /** The same for each completion index of a Job, in the order of the indexes, separated by commas. */
  indexFails: 'simulation.gantry.dev/index-fails',
} as const;

const UNSCHEDULED_MS = 1000;
export const NODE_NAMES: readonly string[] = ['node-a', 'node-b', 'node-c'];

/**
 * Simulates the scheduler, the nodes and their kubelets. Pods are bound, start, become ready, become unready for a while, finish and
 * terminate, each step after a random time. A lost node does nothing until it is restored. Then it ends the pods that were deleted in the
 * meantime.
 */
export class Nodes {
  readonly #options: NodesOptions;
  readonly #lost = new Set<string>();
  /** The steps that were begun for each pod, by the pod's uid. */
  readonly #begun = new Map<string, Set<string>>();
  /** Whether the kubelet considers a pod ready, by the pod's uid. */
  readonly #ready = new Map<string, boolean>();
  /** How many pods of each controlling owner, or of each completion index of the owner, have finished. */
  readonly #finished = new Map<string, number>();
  /** The address of each pod, by the pod's uid. No address is used twice. */
  readonly #addresses = new Map<string, string>();
  #given = 0;
  #flickering = true;

  constructor(options: NodesOptions) {
    this.#options = options;
    options.world.subscribe((change) => this.#take(change));
  }

  /** Registers the nodes and sends their heartbeats. */
  async start(): Promise<void> {
    for (const name of NODE_NAMES) await registerNode(this.#options, name, () => this.#lost.has(name));
  }

  isLost(name: string): boolean {
    return this.#lost.has(name);
  }

  /** Loses a node: from now on its pods neither change nor terminate. */
  lose(name: string): void {
    this.#lost.add(name);
  }

  restore(name: string): void {
    this.#lost.delete(name);
    for (const volume of this.#options.world.all(PERSISTENT_VOLUMES)) {
      if (hostOf(volume) === name) this.#reclaim(volume);
    }
    for (const pod of this.#options.world.all(PODS)) {
      if (pod.spec?.nodeName !== name) continue;
      // The steps that the loss prevented begin again.
      this.#begun.delete(pod.metadata.uid ?? '');
      this.#look(pod);
    }
  }

  /** From now on, no ready pod becomes unready. */
  calm(): void {
    this.#flickering = false;
  }

  /** Runs work for a node after a delay, unless the node is lost by then. */
  #later(delayMs: number, node: string, work: () => Promise<unknown>): void {
    const { clock, activity, signal } = this.#options;
    clock.setTimer(delayMs, () => {
      if (signal.aborted || this.#lost.has(node)) return;
      void activity.of(() => ignoreReasons(work(), ['NotFound', 'Conflict', 'Invalid', 'Forbidden']));
    });
  }

  #take(change: Change): void {
    if (isOf(change, PERSISTENT_VOLUMES) && change.object !== undefined) this.#reclaim(change.object);
    if (!isOf(change, PODS)) return;
    if (change.object === undefined) this.#forget(change.old?.metadata.uid ?? '');
    else this.#look(change.object);
  }

  #forget(uid: string): void {
    this.#begun.delete(uid);
    this.#ready.delete(uid);
    this.#addresses.delete(uid);
  }

  /** Begins the steps that are due for a pod. Each step begins only once. */
  #look(pod: Pod): void {
    const { metadata, spec, status } = pod;
    const node = spec?.nodeName ?? '';
    if (node === '') {
      if (metadata.deletionTimestamp === undefined) this.#once(pod, 'bind', () => this.#schedule(pod));
      return;
    }
    if (this.#lost.has(node)) return;
    if (metadata.deletionTimestamp !== undefined) this.#once(pod, 'end', () => this.#end(pod, node));
    else if (status?.phase === 'Pending') this.#once(pod, 'run', () => this.#run(pod, node));
    else if (status?.phase === 'Running' && metadata.annotations?.[POD_FATE.ready] !== 'never') {
      // A controller may have marked a pod as unready because it considered the node lost. The kubelet then writes the actual state again.
      if (this.#ready.get(metadata.uid ?? '') === true && !isReady(pod))
        this.#once(pod, 'again', () => this.#repeat(pod, node));
      if (spec?.restartPolicy === 'Always') this.#once(pod, 'ready', () => this.#becomeReady(pod, node));
      else this.#once(pod, 'finish', () => this.#finish(pod, node));
    }
  }

  #once(pod: Pod, step: string, begin: () => void): void {
    const uid = pod.metadata.uid ?? '';
    const begun = this.#begun.get(uid) ?? new Set<string>();
    this.#begun.set(uid, begun);
    if (begun.has(step)) return;
    begun.add(step);
    begin();
  }

  #again(pod: Pod, step: string): void {
    this.#begun.get(pod.metadata.uid ?? '')?.delete(step);
    const now = this.#current(pod);
    if (now !== undefined) this.#look(now);
  }

  #current({ metadata: { namespace = '', name = '', uid } }: Pod): Pod | undefined {
    const now = this.#options.world.get(PODS, namespace, name);
    return now?.metadata.uid === uid ? now : undefined;
  }

  #schedule(pod: Pod): void {
    const { world, client, dice, signal } = this.#options;
    this.#later(dice.between(5, 300), '', async () => {
      const placement = placePod(pod, world, dice.pick);
      if (placement.kind !== 'bind') {
        this.#later(UNSCHEDULED_MS, '', async () => this.#again(pod, 'bind'));
        if (placement.kind === 'select') await this.#selectNode(placement.claim, placement.node);
        return;
      }
      const target = { kind: 'Node', name: placement.node };
      const { namespace = '', name = '', uid = '' } = pod.metadata;
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace, uid }, target };
      await client.createSubresource(PODS, { namespace, name, subresource: 'binding' }, binding, signal);
    });
  }

  async #selectNode({ metadata }: PersistentVolumeClaim, node: string): Promise<void> {
    const { namespace = '', name = '', uid } = metadata;
    const merge = { metadata: { uid, annotations: { [SELECTED_NODE]: node } } };
    await this.#options.client.patch(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, { merge }, this.#options.signal);
  }

  /** Removes a local volume whose claim is gone. The node that has the volume's folder does this. */
  #reclaim(volume: PersistentVolume): void {
    if (!isReclaimable(volume)) return;
    const { client, dice, signal } = this.#options;
    const { name = '', uid } = volume.metadata;
    this.#later(dice.between(20, 2000), hostOf(volume), () =>
      client.delete(PERSISTENT_VOLUMES, { namespace: '', name }, { uid }, signal),
    );
  }

  #run(pod: Pod, node: string): void {
    const { dice } = this.#options;
    const ready = pod.metadata.annotations?.[POD_FATE.ready] !== 'never' && dice.chance(0.6);
    this.#later(dice.between(50, 2000), node, () => this.#report(pod, 'Running', ready));
  }

  #becomeReady(pod: Pod, node: string): void {
    const { dice } = this.#options;
    this.#later(dice.between(50, 5000), node, async () => {
      await this.#report(pod, 'Running', true);
      if (dice.chance(0.05)) this.#flicker(pod, node);
    });
  }

  #repeat(pod: Pod, node: string): void {
    const { dice } = this.#options;
    const uid = pod.metadata.uid ?? '';
    this.#later(dice.between(50, 2000), node, async () => {
      this.#begun.get(uid)?.delete('again');
      await this.#report(pod, 'Running', this.#ready.get(uid) === true);
    });
  }

  #flicker(pod: Pod, node: string): void {
    const { dice } = this.#options;
    this.#later(dice.between(100, 8000), node, async () => {
      if (!this.#flickering || this.#current(pod)?.metadata.deletionTimestamp !== undefined) return;
      await this.#report(pod, 'Running', false);
      this.#later(dice.between(100, 4000), node, () => this.#report(pod, 'Running', true));
    });
  }

  #finish(pod: Pod, node: string): void {
    this.#later(this.#options.dice.between(200, 4000), node, async () => {
      const { of, fails } = fateOf(pod);
      const before = this.#finished.get(of) ?? 0;
      this.#finished.set(of, before + 1);
      await this.#report(pod, before < fails ? 'Failed' : 'Succeeded', false);
    });
  }

  #end(pod: Pod, node: string): void {
    const { client, dice, signal } = this.#options;
    const { namespace = '', name = '', uid } = pod.metadata;
    this.#later(dice.between(20, 2500), node, async () => {
      const phase = this.#current(pod)?.status?.phase;
      if (phase !== 'Succeeded' && phase !== 'Failed') {
        await this.#report(pod, pod.spec?.restartPolicy === 'Always' ? 'Succeeded' : 'Failed', false);
      }
      await client.delete(PODS, { namespace, name }, { uid, gracePeriodSeconds: 0 }, signal);
    });
  }

  #addressOf(uid: string): string {
    const known = this.#addresses.get(uid);
    if (known !== undefined) return known;
    this.#given += 1;
    const address = `10.128.${this.#given >> 8}.${this.#given & 255}`;
    this.#addresses.set(uid, address);
    return address;
  }

  async #report(pod: Pod, phase: string, ready: boolean): Promise<void> {
    const { client, clock, signal } = this.#options;
    const { namespace = '', name = '', uid } = pod.metadata;
    const now = this.#current(pod);
    const before = now?.status?.phase;
    if (now === undefined || isFinalPhase(before)) return;
    this.#ready.set(uid ?? '', phase === 'Running' && ready);
    if (before === phase && isReady(now) === ready) return;
    const time = formatTime(clock.now());
    const condition = { status: ready ? 'True' : 'False', lastTransitionTime: time };
    const conditions = ['Ready', 'ContainersReady'].map((type) => ({ type, ...condition }));
    const podIP = this.#addressOf(uid ?? '');
    const status = { phase, conditions, startTime: now.status?.startTime ?? time, podIP, podIPs: [{ ip: podIP }] };
    await client.patch(
      PODS,
      { namespace, name },
      { strategic: { metadata: { uid }, status }, subresource: 'status' },
      signal,
    );
  }
}

/** How many pods fail in the Job or the completion index that the pod belongs to. */
function fateOf({ metadata }: Pod): { readonly of: string; readonly fails: number } {
  const { annotations = {}, ownerReferences = [] } = metadata;
  const owner = ownerReferences[0]?.uid ?? '';
  const ofIndexes = annotations[POD_FATE.indexFails];
  if (ofIndexes === undefined) return { of: owner, fails: Number(annotations[POD_FATE.fails] ?? 0) };
  const index = annotations[COMPLETION_INDEX] ?? '';
  return { of: `${owner} ${index}`, fails: Number(ofIndexes.split(',')[Number(index)] ?? 0) };
}
