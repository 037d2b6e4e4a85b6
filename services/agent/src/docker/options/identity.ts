import { LABEL, type Owner, type PodIdentity } from '../../runtime/labels.ts';
import type { OptionGroup } from './option-group.ts';

/** Unique per pod, container and attempt: the engine refuses a second create of the same. */
export function containerName(pod: PodIdentity, name: string, attempt: number): string {
  return `gantry_${name}_${pod.name}_${pod.namespace}_${pod.uid}_${attempt}`;
}

/** The labels that sandboxes and containers of a pod share. */
export function podLabels(owner: Owner, pod: PodIdentity, graceSeconds: number): Record<string, string> {
  return {
    [LABEL.cluster]: owner.cluster,
    [LABEL.node]: owner.node,
    [LABEL.podName]: pod.name,
    [LABEL.podNamespace]: pod.namespace,
    [LABEL.podUid]: pod.uid,
    [LABEL.graceSeconds]: String(graceSeconds),
  };
}

/** Name and labels. */
export const identityOptions: OptionGroup = (spec) => ({
  container: {
    name: containerName(spec.pod, spec.name, spec.attempt),
    Labels: {
      ...podLabels(spec.owner, spec.pod, spec.graceSeconds),
      [LABEL.containerName]: spec.name,
      [LABEL.restartCount]: String(spec.attempt),
      [LABEL.containerHash]: spec.hash,
      [LABEL.sandboxId]: spec.sandboxId,
      [LABEL.restartDelayMs]: String(spec.restartDelayMs),
      ...(spec.terminationMessagePath === undefined ? {} : { [LABEL.terminationMessage]: spec.terminationMessagePath }),
    },
  },
});
