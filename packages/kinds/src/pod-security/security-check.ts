import type { Container, KubeObject, PodSpec } from '@gantry/objects';

/** What checks look at: a pod, or the template of one. */
export interface CheckedPod {
  readonly metadata: Pick<KubeObject['metadata'], 'annotations'>;
  readonly spec: PodSpec;
}

/** What a pod must not be, in few words, and where it is. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

/** A check as it is from a minor version of Kubernetes 1 on. */
export interface VersionedCheck {
  readonly since: number;
  readonly violation: (pod: CheckedPod) => Violation | undefined;
  /** Checks of the baseline that this one makes needless. */
  readonly overrides?: readonly string[];
}

/** One rule of a Pod Security Standard. */
export interface SecurityCheck {
  /** Violations are told in the order of these. */
  readonly id: string;
  readonly versions: readonly VersionedCheck[];
}

/** What checks read of a container of any sort. */
export type CheckedContainer = Pick<
  Container,
  'name' | 'securityContext' | 'ports' | 'lifecycle' | 'livenessProbe' | 'readinessProbe' | 'startupProbe'
>;

/** All containers of a pod, in the order in which violations name them. */
export function containersOf({ spec }: CheckedPod): readonly CheckedContainer[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
}

/** Names of the containers of which something holds. */
export function namesWhere(pod: CheckedPod, holds: (container: CheckedContainer) => boolean): readonly string[] {
  return containersOf(pod)
    .filter(holds)
    .map(({ name }) => name);
}

export function quoted(texts: readonly string[]): string {
  return texts.map((text) => `"${text}"`).join(', ');
}

/** The word for as many. */
export function word(singular: string, count: number, plural = `${singular}s`): string {
  return count === 1 ? singular : plural;
}

/** `container "a"`, `containers "a", "b"`. */
export function containersNamed(names: readonly string[]): string {
  return `${word('container', names.length)} ${quoted(names)}`;
}

/** Each once, in order. */
export function sorted(texts: Iterable<string>): readonly string[] {
  return [...new Set(texts)].sort();
}

/** Where something is set: pod, containers, or both. Empty when it is not set. */
export function setters(pod: boolean, containers: readonly string[]): string {
  return [...(pod ? ['pod'] : []), ...(containers.length === 0 ? [] : [containersNamed(containers)])].join(' and ');
}

/** Whether users of the pod are not those of the host. */
export function hasOwnUsers({ spec }: CheckedPod): boolean {
  return spec.hostUsers === false;
}

export function isWindows({ spec }: CheckedPod): boolean {
  return spec.os?.name === 'windows';
}
