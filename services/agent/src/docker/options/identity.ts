import type { ProcessUser } from '../../runtime/containers.ts';
import { type Instances, LABEL, type Owner, type PodIdentity } from '../../runtime/labels.ts';
import type { OptionGroup } from './option-group.ts';

/** Unique per pod, container and attempt, so the engine refuses to create the same attempt twice. */
export function containerName(pod: PodIdentity, name: string, attempt: number): string {
  return `gantry_${name}_${pod.name}_${pod.namespace}_${pod.uid}_${attempt}`;
}

/** What the labels that sandboxes and containers of a pod share are made from. */
interface LabelledPod {
  readonly owner: Owner;
  readonly pod: PodIdentity;
  readonly graceSeconds: number;
  readonly instances?: Instances;
}

/** The labels that sandboxes and containers of a pod share. */
export function podLabels({ owner, pod, graceSeconds, instances }: LabelledPod): Record<string, string> {
  return {
    [LABEL.cluster]: owner.cluster,
    [LABEL.node]: owner.node,
    [LABEL.podName]: pod.name,
    [LABEL.podNamespace]: pod.namespace,
    [LABEL.podUid]: pod.uid,
    [LABEL.graceSeconds]: String(graceSeconds),
    ...(instances === 'at-most-one' ? { [LABEL.instances]: instances } : {}),
  };
}

/** Empty values for an image's labels. A container can override its image's labels but not omit them. */
export function withoutLabels(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, '']));
}

function userLabel(user: ProcessUser | undefined): Record<string, string> {
  return user === undefined ? {} : { [LABEL.processUser]: `${user.uid}:${user.gid}:${user.groups.join(',')}` };
}

/** Parses the label of `userLabel`. */
export function processUserOf(labels: Readonly<Record<string, string>>): ProcessUser | undefined {
  const written = /^(\d+):(\d+):(\d+(?:,\d+)*)$/.exec(labels[LABEL.processUser] ?? '');
  if (written === null) return undefined;
  const [, uid, gid, groups = ''] = written;
  return { uid: Number(uid), gid: Number(gid), groups: groups.split(',').map(Number) };
}

/** Name and labels. */
export const identityOptions: OptionGroup = (spec) => ({
  container: {
    name: containerName(spec.pod, spec.name, spec.attempt),
    Labels: {
      ...withoutLabels(spec.imageLabels),
      ...podLabels(spec),
      [LABEL.containerName]: spec.name,
      [LABEL.restartCount]: String(spec.attempt),
      [LABEL.containerHash]: spec.hash,
      [LABEL.sandboxId]: spec.sandboxId,
      [LABEL.restartDelayMs]: String(spec.restartDelayMs),
      ...(spec.terminationMessagePath === undefined ? {} : { [LABEL.terminationMessage]: spec.terminationMessagePath }),
      ...userLabel(spec.security.processUser),
    },
  },
});
