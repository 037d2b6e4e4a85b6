import { type ContainerStatus, isFinalPhase, type Pod } from '@gantry/objects';
import { initContainersOf, mainContainersOf, type PodContainer } from '../spec/pod-containers.ts';
import { shouldRestart } from '../spec/restart-policy.ts';

/** The input of a pod's phase. */
export interface PhaseInput {
  readonly pod: Pod;
  readonly init: readonly ContainerStatus[];
  readonly main: readonly ContainerStatus[];
  /** Names of containers that restart with all others, or for new resources. Their ends are not final. */
  readonly restarting: ReadonlySet<string>;
  /** `ended`: nothing of the pod runs, and nothing will start again. */
  readonly run: 'open' | 'ended';
}

/** The pod's phase from its containers' statuses, like in the kubelet (getPhase). Succeeded and Failed are final. */
export function podPhase(input: PhaseInput): string {
  const { pod, main, run } = input;
  const old = pod.status?.phase;
  if (isFinalPhase(old)) return old;
  const phase = openPhase(input);
  if (run === 'open' || phase === 'Failed') return phase;
  return main.length > 0 && main.every((status) => endOf(status) === 0) ? 'Succeeded' : 'Failed';
}

function openPhase({ pod, init, main, restarting }: PhaseInput): string {
  const isOver = ([item, status]: Reported, which: 'any' | 'failed') =>
    !restarting.has(status.name) && endsForGood(pod, item, status, which);
  const before = statusesOf(initContainersOf(pod), init);
  const own = statusesOf(mainContainersOf(pod), main);
  if (before.some((reported) => reported[0].role === 'init' && isOver(reported, 'failed'))) return 'Failed';
  const hasBegun = main.some((status) => status.state?.running !== undefined || endOf(status) !== undefined);
  if (!hasBegun && before.some(isPending)) return 'Pending';
  if (own.length === 0 || main.some(neverStarted)) return 'Pending';
  // A running sidecar delays the end of the pod: it is stopped after the main containers.
  const sidecars = before.flatMap(([{ role }, status]) => (role === 'sidecar' ? [status] : []));
  if ([...sidecars, ...main].some((status) => status.state?.running !== undefined)) return 'Running';
  if (!own.every((reported) => isOver(reported, 'any'))) return 'Running';
  return main.every((status) => endOf(status) === 0) ? 'Succeeded' : 'Failed';
}

type Reported = readonly [PodContainer, ContainerStatus];

function statusesOf(items: readonly PodContainer[], statuses: readonly ContainerStatus[]): readonly Reported[] {
  return items.flatMap((item) => {
    const status = statuses.find(({ name }) => name === item.container.name);
    return status === undefined ? [] : [[item, status] as const];
  });
}

/** Whether an init container has not succeeded yet, or a sidecar has not started yet. */
function isPending([{ role }, status]: Reported): boolean {
  if (role === 'init') return status.state?.terminated?.exitCode !== 0;
  return status.state?.running === undefined ? neverStarted(status) : status.started !== true;
}

function neverStarted({ state, lastState }: ContainerStatus): boolean {
  return state?.waiting !== undefined && lastState?.terminated === undefined;
}

function endsForGood(pod: Pod, item: PodContainer, status: ContainerStatus, which: 'any' | 'failed'): boolean {
  const exitCode = endOf(status);
  if (exitCode === undefined || (which === 'failed' && exitCode === 0)) return false;
  return !shouldRestart(pod, item, exitCode);
}

/** The exit code of a container that does not run: from its state, or from its last state while it waits for a restart. */
function endOf({ state, lastState }: ContainerStatus): number | undefined {
  return (state?.terminated ?? (state?.waiting === undefined ? undefined : lastState?.terminated))?.exitCode;
}
