import type { LifecycleHandler } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import { allContainersOf, containerHash, graceSecondsOf, type PodContainer } from '../spec/pod-containers.ts';
import { restartsAfterStop } from '../spec/restart-policy.ts';
import { hasStartedMain, latestAttempt, type PodInSandbox } from './observed-pod.ts';
import { resizeRestarts } from './plan-resize.ts';
import type { PlanDraft, StopContainer } from './pod-plan.ts';

/** Why a container is stopped, as its Event reports it. */
export interface StopCause extends Pick<StopContainer, 'reason' | 'message' | 'afterwards'> {
  /** Absent: the pod's grace period. */
  readonly graceSeconds?: number | undefined;
  readonly preStop?: LifecycleHandler | undefined;
  /** Absent: `after-hook`. */
  readonly signalled?: StopContainer['signalled'];
}

/** A reason to stop a running container of a pod whose goal is `run`; undefined when the rule does not apply. */
type StopRule = (
  running: ContainerState,
  item: PodContainer | undefined,
  observed: PodInSandbox,
) => StopCause | undefined;

/** A container without its sandbox has no network. */
export const SANDBOX_CHANGED: StopCause = {
  reason: 'SandboxChanged',
  message: 'Pod sandbox changed, it will be killed and re-created.',
};

/** The first rule that applies decides. To add a reason to stop a container, add a rule here. */
const STOP_RULES: readonly StopRule[] = [
  function startedBesideItsSuccessor(running, item, observed) {
    // Such a start succeeds only while the bound paths of its mounts exist; they are removed once the container has started.
    if (latestAttempt(observed, running.name)?.id === running.id) return undefined;
    // No preStop hook: its requests would reach the successor.
    return {
      reason: 'Killing',
      message: `${titleOf(running, item)} was started beside its successor`,
      preStop: undefined,
    };
  },
  function startedAfterInitialization(running, item, observed) {
    if (item?.role !== 'init' || !hasStartedMain(observed)) return undefined;
    return { reason: 'Killing', message: `${titleOf(running, item)} was started after the pod was initialized` };
  },
  function sandboxChanged(running, _item, { sandbox }) {
    return running.sandboxId === sandbox.id ? undefined : SANDBOX_CHANGED;
  },
  function definitionChanged(running, item) {
    if (item === undefined || containerHash(item.container) === running.hash) return undefined;
    return {
      reason: 'Killing',
      message: `${titleOf(running, item)} definition changed${item.role === 'main' ? RESTARTS : ''}`,
    };
  },
  function probeFailed(running, item, { pod, memory }) {
    const findings = memory.probes.get(running.name);
    if (findings?.failed === undefined || findings.containerId !== running.id || item === undefined) return undefined;
    const { livenessProbe, startupProbe } = item.container;
    const probe = findings.failed === 'liveness' ? livenessProbe : startupProbe;
    const next = item.role === 'main' && restartsAfterStop(pod, item) ? RESTARTS : '';
    return {
      reason: 'Killing',
      message: `${titleOf(running, item)} failed ${findings.failed} probe${next}`,
      graceSeconds: probe?.terminationGracePeriodSeconds,
    };
  },
  function resizeNeedsRestart(running, item, { pod }) {
    if (item === undefined || item.role === 'ephemeral' || !resizeRestarts(pod, running, item)) return undefined;
    const message = `Container ${running.name} resize requires restart`;
    return { reason: 'Killing', message, afterwards: 'started-again' };
  },
  function postStartFailed(running, _item, { memory }) {
    if (!memory.failedPostStart.has(running.id)) return undefined;
    return { reason: 'Killing', message: 'FailedPostStartHook' };
  },
];

const RESTARTS = ', will be restarted';

/** The title of a container in the kubelet's messages. */
function titleOf({ name }: ContainerState, item: PodContainer | undefined): string {
  return `${item === undefined || item.role === 'main' ? 'Container' : 'Init container'} ${name}`;
}

/** Stops every running container that a rule rejects. */
export function planStopRules(draft: PlanDraft, observed: PodInSandbox): void {
  const { pod, containers, memory } = observed;
  const items = new Map(allContainersOf(pod).map((item) => [item.container.name, item]));
  for (const running of containers) {
    if (running.state !== 'running' || memory.stopping.has(running.id)) continue;
    const item = items.get(running.name);
    for (const rule of STOP_RULES) {
      const cause = rule(running, item, observed);
      if (cause === undefined) continue;
      const preStop = item?.container.lifecycle?.preStop;
      stopContainer(draft, running, graceSecondsOf(pod), { preStop, ...cause });
      break;
    }
  }
}

/** Adds the action that stops a container. Omits the preStop hook when there is no time for it. */
export function stopContainer(
  draft: PlanDraft,
  { id, name }: ContainerState,
  podGraceSeconds: number,
  { reason, message, graceSeconds = podGraceSeconds, preStop, signalled = 'after-hook', afterwards }: StopCause,
): void {
  const hook = preStop === undefined || graceSeconds <= 0 ? {} : { preStop };
  const next = afterwards === undefined ? {} : { afterwards };
  draft.actions.push({ kind: 'stopContainer', id, name, graceSeconds, ...hook, signalled, reason, message, ...next });
}
