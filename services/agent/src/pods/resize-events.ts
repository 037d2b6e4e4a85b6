import type { EventRecorder } from '@gantry/controller-runtime';
import type { Container, Pod } from '@gantry/objects';
import { resized } from '../plan/plan-resize.ts';
import { isGroupResized } from '../plan/pod-group.ts';
import type { PodMemory } from '../plan/pod-memory.ts';
import type { PodState } from '../runtime/observer.ts';
import { asksForResize, grantedPod } from '../spec/resize.ts';

type ResizeMemory = Pick<PodMemory, 'resize' | 'updates' | 'groupUpdate'>;

/** Records the Events of a pod's resizes like the kubelet: each change once. */
export class ResizeEvents {
  readonly #recorder: EventRecorder;
  /** The generation of the resize in progress. */
  #started: number | undefined;
  #completed: number | undefined;
  /** The generation of the pending resize. */
  #deferred: number | undefined;
  #failed = '';

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  /** Records the Events for the pod's current state. */
  observe(pod: Pod, state: PodState | undefined, { resize, updates, groupUpdate }: ResizeMemory): void {
    const { generation = 0 } = pod.metadata;
    const isAsked = resize.kind === 'infeasible' || asksForResize(pod);
    this.#observePending(pod, isAsked, resize);
    if (isAsked && resize.kind === 'fits' && this.#started !== generation) {
      this.#started = generation;
      this.#recorder.event(pod, 'Normal', 'ResizeStarted', messageOf('Pod resize started', pod));
    }
    const granted = grantedPod(pod, resize);
    const changing = resized({ pod: granted, containers: state?.containers ?? [] });
    const isGroupChanging = isGroupResized(granted, state?.group);
    const ofGroup = isGroupChanging ? [groupUpdate?.failure ?? []].flat() : [];
    const ofContainers = changing.flatMap(({ running }) => updates.get(running.name)?.failure ?? []);
    const failure = [...ofGroup, ...ofContainers][0]?.message ?? '';
    if (failure !== '' && failure !== this.#failed) {
      this.#recorder.event(pod, 'Warning', 'ResizeError', messageOf('Pod resize error', pod, failure));
    }
    this.#failed = failure;
    // After a restart, the agent recognises a resize in progress by the pod's condition.
    const hasBegun = this.#started !== undefined || isInProgress(pod);
    if (isAsked || isGroupChanging || changing.length > 0 || !hasBegun) return;
    if (this.#completed !== generation) {
      this.#recorder.event(pod, 'Normal', 'ResizeCompleted', messageOf('Pod resize completed', pod));
    }
    this.#completed = generation;
    this.#started = undefined;
  }

  #observePending(pod: Pod, isAsked: boolean, resize: PodMemory['resize']): void {
    if (!isAsked || resize.kind === 'fits') {
      this.#deferred = undefined;
      return;
    }
    const { generation = 0 } = pod.metadata;
    if (this.#deferred === generation) return;
    this.#deferred = generation;
    if (isPending(pod, generation)) return;
    const message = messageOf(`Pod resize ${resize.reason}`, pod, resize.message);
    const reason = resize.kind === 'deferred' ? 'ResizeDeferred' : 'ResizeInfeasible';
    this.#recorder.event(pod, 'Warning', reason, message);
  }
}

/** Whether an agent has already reported that this resize is pending. */
function isPending({ status }: Pod, generation: number): boolean {
  const pending = status?.conditions?.find(({ type }) => type === 'PodResizePending');
  return pending?.observedGeneration === generation;
}

function isInProgress({ status }: Pod): boolean {
  return (status?.conditions ?? []).some(({ type }) => type === 'PodResizeInProgress');
}

/** The kubelet's message: the requested resources as JSON with Go's order of fields. */
function messageOf(prefix: string, { metadata, spec }: Pod, error?: string): string {
  const of = (containers: readonly Container[] | undefined) =>
    containers?.map(({ name, resources = {} }) => ({ name, resources: sorted(resources) }));
  const initContainers = of(spec?.initContainers);
  const summary = {
    ...(initContainers === undefined || initContainers.length === 0 ? {} : { initContainers }),
    containers: of(spec?.containers),
    generation: metadata.generation ?? 0,
    error,
  };
  return `${prefix}: ${JSON.stringify(summary)}`;
}

function sorted({ limits, requests, claims }: NonNullable<Container['resources']>): object {
  const byName = (amounts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(amounts).sort(([one], [other]) => (one < other ? -1 : 1)));
  return {
    ...(limits === undefined ? {} : { limits: byName(limits) }),
    ...(requests === undefined ? {} : { requests: byName(requests) }),
    claims,
  };
}
