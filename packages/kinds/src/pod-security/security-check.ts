import type { Container, KubeObject, PodSpec } from '@gantry/objects';

/** The input of checks: a pod, or a pod template. */
export interface CheckedPod {
  readonly metadata: Pick<KubeObject['metadata'], 'annotations'>;
  readonly spec: PodSpec;
}

/** A short description of a violation, and its location. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

/** A check as defined since a minor version of Kubernetes 1. */
export interface VersionedCheck {
  readonly since: number;
  readonly violation: (pod: CheckedPod) => Violation | undefined;
  /** Baseline checks that this check makes unnecessary. */
  readonly overrides?: readonly string[];
}

/** One rule of a Pod Security Standard. */
export interface SecurityCheck {
  /** Violations are reported in the order of ids. */
  readonly id: string;
  readonly versions: readonly VersionedCheck[];
}

/** The fields of containers that checks read. */
export type CheckedContainer = Pick<
  Container,
  'name' | 'securityContext' | 'ports' | 'lifecycle' | 'livenessProbe' | 'readinessProbe' | 'startupProbe'
>;

/** All containers of a pod, in the order in which violations name them. */
export function containersOf({ spec }: CheckedPod): readonly CheckedContainer[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
}

/** Names of the containers for which `holds` is true. */
export function namesWhere(pod: CheckedPod, holds: (container: CheckedContainer) => boolean): readonly string[] {
  return containersOf(pod)
    .filter(holds)
    .map(({ name }) => name);
}

export function quoted(texts: readonly string[]): string {
  return texts.map((text) => `"${text}"`).join(', ');
}

/** The singular or the plural, by count. */
export function word(singular: string, count: number, plural = `${singular}s`): string {
  return count === 1 ? singular : plural;
}

/** `container "a"`, `containers "a", "b"`. */
export function containersNamed(names: readonly string[]): string {
  return `${word('container', names.length)} ${quoted(names)}`;
}

/** Without duplicates, sorted. */
export function sorted(texts: Iterable<string>): readonly string[] {
  return [...new Set(texts)].sort();
}

/** Where a field is set: pod, containers, or both. '' if it is not set. */
export function setters(pod: boolean, containers: readonly string[]): string {
  return [...(pod ? ['pod'] : []), ...(containers.length === 0 ? [] : [containersNamed(containers)])].join(' and ');
}

/** Whether the pod has its own user namespace. */
export function hasOwnUsers({ spec }: CheckedPod): boolean {
  return spec.hostUsers === false;
}

export function isWindows({ spec }: CheckedPod): boolean {
  return spec.os?.name === 'windows';
}
