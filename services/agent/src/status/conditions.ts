import { formatTime, type Instant } from '@gantry/base';
import type { ContainerStatus, Pod, PodCondition } from '@gantry/objects';
import { ALL_RESTARTING } from '../plan/restarted-containers.ts';
import { sidecarsOf } from '../spec/pod-containers.ts';

/** The parts of a pod's status that its conditions depend on. */
export interface ConditionInput {
  readonly pod: Pod;
  readonly phase: string;
  readonly init: readonly ContainerStatus[];
  readonly main: readonly ContainerStatus[];
  readonly sandbox: 'ready' | 'absent';
  /** Conditions of a resize, of a restart of all containers and of an eviction. */
  readonly more: readonly ConditionDraft[];
}

/** The conditions that the kubelet owns. */
export const OWN_CONDITIONS: ReadonlySet<string> = new Set([
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'PodResizePending',
  'PodResizeInProgress',
  ALL_RESTARTING,
]);

/** A condition without its times. */
export type ConditionDraft = Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>;

/** The pod's conditions: the kubelet's are computed, all others are unchanged. A transition time changes only with the status. */
export function podConditions(input: ConditionInput, now: Instant): PodCondition[] {
  const { pod } = input;
  const old = pod.status?.conditions ?? [];
  const drafts = [
    sandboxReady(input),
    initialized(input),
    ready(input),
    containersReady(input),
    scheduled(old),
    ...input.more,
  ];
  const own = drafts.map((draft) => stamp(draft, old, pod.metadata.generation, now));
  const types = new Set(drafts.map(({ type }) => type));
  return [...own, ...old.filter(({ type }) => !OWN_CONDITIONS.has(type) && !types.has(type))];
}

function stamp(
  draft: ConditionDraft,
  old: readonly PodCondition[],
  generation: number | undefined,
  now: Instant,
): PodCondition {
  const before = old.find((condition) => condition.type === draft.type);
  const kept = before?.status === draft.status ? before.lastTransitionTime : undefined;
  const observed = generation ?? before?.observedGeneration;
  return {
    type: draft.type,
    status: draft.status,
    ...(before !== undefined && 'lastProbeTime' in before ? { lastProbeTime: before.lastProbeTime } : {}),
    lastTransitionTime: kept ?? formatTime(now),
    reason: draft.reason,
    message: draft.message,
    observedGeneration: observed,
  };
}

function scheduled(old: readonly PodCondition[]): ConditionDraft {
  const before = old.find((condition) => condition.type === 'PodScheduled');
  return before?.status === 'True'
    ? { type: 'PodScheduled', status: 'True', reason: before.reason, message: before.message }
    : { type: 'PodScheduled', status: 'True' };
}

function sandboxReady({ sandbox }: ConditionInput): ConditionDraft {
  return { type: 'PodReadyToStartContainers', status: sandbox === 'ready' ? 'True' : 'False' };
}

function initialized({ pod, phase, init, main }: ConditionInput): ConditionDraft {
  const type = 'Initialized';
  if (phase === 'Succeeded') return { type, status: 'True', reason: 'PodCompleted' };
  if (main.some((status) => status.state?.running !== undefined)) return { type, status: 'True' };
  const sidecars = sidecarsOf(pod);
  const incomplete = init.filter((status) =>
    sidecars.has(status.name) ? status.started !== true : status.state?.terminated?.exitCode !== 0,
  );
  // A pod stays initialised, even if containers restart.
  const wasInitialized = pod.status?.conditions?.some((one) => one.type === type && one.status === 'True');
  if (incomplete.length === 0 || wasInitialized === true) return { type, status: 'True' };
  return {
    type,
    status: 'False',
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: [${incomplete.map((status) => status.name).join(' ')}]`,
  };
}

function containersReady({ phase, main, init, pod }: ConditionInput): ConditionDraft {
  const type = 'ContainersReady';
  if (phase === 'Succeeded') return { type, status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' };
  const sidecars = sidecarsOf(pod);
  const counted = [...init.filter((status) => sidecars.has(status.name)), ...main];
  const unready = counted.filter((status) => !status.ready);
  if (unready.length === 0) return { type, status: 'True' };
  return {
    type,
    status: 'False',
    reason: 'ContainersNotReady',
    message: `containers with unready status: [${unready.map((status) => status.name).join(' ')}]`,
  };
}

function ready(input: ConditionInput): ConditionDraft {
  const containers = containersReady(input);
  if (containers.status !== 'True') return { ...containers, type: 'Ready' };
  const { pod } = input;
  const unready = (pod.spec?.readinessGates ?? []).flatMap(({ conditionType: type }) => {
    const value = pod.status?.conditions?.find((condition) => condition.type === type)?.status;
    if (value === 'True') return [];
    const gate = `pod readiness gate ${JSON.stringify(type)}`;
    if (value === undefined) return [`corresponding condition of ${gate} does not exist.`];
    return [`the status of ${gate} is not "True", but ${value}`];
  });
  if (unready.length === 0) return { type: 'Ready', status: 'True' };
  return { type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady', message: unready.join(', ') };
}
