import type { ContainerStatus, Pod } from '@gantry/objects';
import { sidecarsOf } from '../spec/pod-containers.ts';

/** The pod's phase from its containers' statuses. Succeeded and Failed are final. */
export function podPhase(pod: Pod, init: readonly ContainerStatus[], main: readonly ContainerStatus[]): string {
  const old = pod.status?.phase;
  if (old === 'Succeeded' || old === 'Failed') return old;
  const policy = pod.spec?.restartPolicy ?? 'Always';
  const sidecars = sidecarsOf(pod);
  const steps = init.filter((status) => !sidecars.has(status.name));
  const failed = steps.some((status) => (exitCodeOf(status) ?? 0) !== 0);
  if (failed && policy === 'Never') return 'Failed';
  const begun = main.some((status) => status.state?.running !== undefined || exitCodeOf(status) !== undefined);
  if (!begun && steps.some((status) => status.state?.terminated?.exitCode !== 0)) return 'Pending';
  if (main.some((status) => status.state?.waiting !== undefined && status.lastState?.terminated === undefined)) {
    return 'Pending';
  }
  if (main.some((status) => status.state?.running !== undefined)) return 'Running';
  if (main.length === 0) return 'Pending';
  if (policy === 'Always') return 'Running';
  if (main.every((status) => exitCodeOf(status) === 0)) return 'Succeeded';
  return policy === 'Never' ? 'Failed' : 'Running';
}

function exitCodeOf(status: ContainerStatus): number | undefined {
  return (status.state?.terminated ?? (status.state?.waiting === undefined ? undefined : status.lastState?.terminated))
    ?.exitCode;
}
