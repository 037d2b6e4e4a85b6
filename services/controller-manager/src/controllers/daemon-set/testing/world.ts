import { formatTime, type Instant } from '@gantry/base';
import {
  cloneJson,
  controllerOf,
  controllerReference,
  type ControllerRevision,
  type DaemonSet,
  type DaemonSetSpec,
  type Node,
  type Pod,
  type PodTemplateSpec,
  type Taint,
} from '@gantry/objects';
import { FailedPods } from '../controller.ts';
import { HASH_LABEL, placementOf, targetNode } from '../placement.ts';
import { type Action, type ObservedDaemonSet, planDaemonSet } from '../plan.ts';

export const START = Date.parse('2026-01-01T00:00:00Z');

export const TEMPLATE: PodTemplateSpec = {
  metadata: { labels: { app: 'a' } },
  spec: { containers: [{ name: 'c', image: 'app:1' }] },
};

export function exampleSet(spec: Partial<DaemonSetSpec> = {}): DaemonSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'set', namespace: 'n', uid: 'set-1', generation: 1 },
    spec: { selector: { matchLabels: { app: 'a' } }, template: TEMPLATE, revisionHistoryLimit: 2, ...spec },
  };
}

export function exampleNode(name: string, labels: Record<string, string> = {}, taints: Taint[] = []): Node {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, spec: { taints } };
}

/** Events between two reconciles. */
export type WorldEvent =
  | { readonly kind: 'image'; readonly image: string }
  | { readonly kind: 'fail' | 'succeed' | 'unready' | 'delete'; readonly index: number }
  | { readonly kind: 'retaint'; readonly index: number; readonly taints: Taint[] }
  | { readonly kind: 'step' }
  | { readonly kind: 'kubelet' };

/** An in-memory DaemonSet. Actions of plans are executed at once; pods become ready or disappear when the kubelet step runs. */
export class DaemonWorld {
  now: Instant = START;
  set: DaemonSet;
  nodes: Node[] = [];
  pods: Pod[] = [];
  revisions: ControllerRevision[] = [];
  /** Called after each change of pods. */
  onChange: () => void = () => undefined;
  readonly #failed = new FailedPods();
  #names = 0;

  constructor(set: DaemonSet) {
    this.set = cloneJson(set);
  }

  observed(): ObservedDaemonSet {
    const { set, nodes, pods, revisions, now } = this;
    return { set, nodes, pods, revisions, failedUntil: (name) => this.#failed.waitsUntil(name, now) };
  }

  /** The hash of the newest revision. */
  get hash(): string {
    const newest = this.revisions.reduce((a, b) => (a.revision > b.revision ? a : b));
    return newest.metadata.labels?.[HASH_LABEL] ?? '';
  }

  owned(): Pod[] {
    return this.pods.filter((pod) => controllerOf(pod)?.uid === this.set.metadata.uid);
  }

  living(): Pod[] {
    return this.pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Whether a node may keep an existing pod but gets no new one. */
  keeps(name: string | undefined): boolean {
    const node = this.nodes.find(({ metadata }) => metadata.name === name);
    return node !== undefined && placementOf(this.set)(node) === 'keep';
  }

  /** Executes only the actions on the history. */
  settleHistory(): void {
    const { actions } = planDaemonSet(this.observed(), this.now);
    for (const action of actions) if (action.kind === 'createRevision') this.#perform(action);
  }

  /** One reconcile; false if there was nothing to do. */
  step(): boolean {
    const { actions } = planDaemonSet(this.observed(), this.now);
    for (const action of actions) this.#perform(action);
    return actions.length > 0;
  }

  /** Binds, starts and readies every pod, and removes terminating ones. False if nothing changed. */
  kubelet(): boolean {
    this.now += 1000;
    const before = this.pods.length;
    let started = 0;
    this.pods = this.pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    for (const pod of this.pods) {
      const node = targetNode(pod);
      if (pod.status !== undefined && pod.status.phase !== 'Pending' && !isUnready(pod)) continue;
      if (node === undefined || !this.nodes.some(({ metadata }) => metadata.name === node)) continue;
      pod.spec = { containers: [], ...pod.spec, nodeName: node };
      started += 1;
      const lastTransitionTime = formatTime(this.now);
      pod.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] };
    }
    this.onChange();
    return started > 0 || this.pods.length < before;
  }

  /** Alternates controller and kubelet steps until nothing changes, not even with time. */
  settle(): void {
    for (let rounds = 0; rounds < 200; rounds++) {
      const decided = this.step();
      const ran = this.kubelet();
      const { requeueAt } = planDaemonSet(this.observed(), this.now);
      if (requeueAt !== undefined) this.now = Math.max(this.now, requeueAt);
      else if (!decided && !ran) return;
    }
    throw new Error('the world does not come to rest');
  }

  happen(event: WorldEvent): void {
    switch (event.kind) {
      case 'step':
        this.step();
        return;
      case 'kubelet':
        this.kubelet();
        return;
      case 'image':
        this.#change(event.image);
        return;
      case 'retaint': {
        const node = this.nodes[event.index];
        if (node !== undefined) node.spec = { taints: event.taints };
        return;
      }
      default: {
        const pod = this.pods[event.index];
        if (pod === undefined) return;
        if (event.kind === 'delete') pod.metadata.deletionTimestamp = formatTime(this.now);
        else if (event.kind === 'unready')
          pod.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] };
        else pod.status = { phase: event.kind === 'fail' ? 'Failed' : 'Succeeded' };
      }
    }
  }

  #change(image: string): void {
    const { spec, metadata } = this.set;
    if (spec === undefined) return;
    const template = { ...spec.template, spec: { ...spec.template.spec, containers: [{ name: 'c', image }] } };
    this.set = {
      ...this.set,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: { ...spec, template },
    };
  }

  #perform(action: Action): void {
    switch (action.kind) {
      case 'adopt':
        action.object.metadata.ownerReferences = [controllerReference(this.set)];
        break;
      case 'release':
        action.object.metadata.ownerReferences = [];
        break;
      case 'createRevision':
        this.revisions.push(cloneJson(action.revision));
        break;
      case 'renumberRevision':
        action.revision.revision = action.number;
        break;
      case 'labelRevision':
        action.revision.metadata.labels = { ...action.revision.metadata.labels, [HASH_LABEL]: action.hash };
        break;
      case 'relabelPod':
        action.pod.metadata.labels = { ...action.pod.metadata.labels, [HASH_LABEL]: action.hash };
        break;
      case 'deleteRevision':
        this.revisions = this.revisions.filter((one) => one !== action.revision);
        break;
      case 'createPods':
        for (const pod of action.pods) this.#create(pod);
        this.onChange();
        break;
      case 'deletePods':
        for (const { pod, nodeName, reason } of action.deletions) {
          if (reason === 'failed') this.#failed.note(nodeName, this.now);
          pod.metadata.deletionTimestamp = formatTime(this.now);
        }
        this.onChange();
        break;
      case 'reportSelectingAll':
        break;
      case 'updateStatus':
        this.set = { ...this.set, status: action.status };
        break;
    }
  }

  #create(pod: Pod): void {
    const name = `set-${++this.#names}`;
    const metadata = { ...pod.metadata, name, uid: name, creationTimestamp: formatTime(this.now) };
    this.pods.push({ ...pod, metadata, status: { phase: 'Pending' } });
  }
}

function isUnready(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status !== 'True') === true;
}
