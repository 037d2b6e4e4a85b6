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

/** Empty values for an image's labels: a label of a container replaces its image's, and there is no way to leave one out. */
export function withoutLabels(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, '']));
}

/** Name and labels. */
export const identityOptions: OptionGroup = (spec) => ({
  container: {
    name: containerName(spec.pod, spec.name, spec.attempt),
    Labels: {
      ...withoutLabels(spec.imageLabels),
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
