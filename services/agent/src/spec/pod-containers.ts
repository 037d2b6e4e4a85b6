import { createHash } from 'node:crypto';
import type { Container, Pod } from '@gantry/objects';

/**
 * `sidecar`: an init container with restart policy Always, which runs beside the main containers. `ephemeral`: a container that was added
 * for debugging, and is started once.
 */
export type ContainerRole = 'init' | 'sidecar' | 'main' | 'ephemeral';

/** A container with its role in the pod. */
export interface PodContainer {
  readonly role: ContainerRole;
  readonly container: Container;
}

/** Init containers in their order, including sidecars. */
export function initContainersOf(pod: Pod): readonly PodContainer[] {
  return (pod.spec?.initContainers ?? []).map((container) => ({
    role: container.restartPolicy === 'Always' ? 'sidecar' : 'init',
    container,
  }));
}

/** Main containers in their order. */
export function mainContainersOf(pod: Pod): readonly PodContainer[] {
  return (pod.spec?.containers ?? []).map((container) => ({ role: 'main', container }));
}

/** Ephemeral containers in their order. */
export function ephemeralContainersOf(pod: Pod): readonly PodContainer[] {
  return (pod.spec?.ephemeralContainers ?? []).map((container) => ({ role: 'ephemeral', container }));
}

/** The name of the container whose process namespace an ephemeral container joins; '' for its own namespace. */
export function targetOf(pod: Pod, name: string): string {
  return pod.spec?.ephemeralContainers?.find((container) => container.name === name)?.targetContainerName ?? '';
}

/** Every container that a pod was created with, main containers first. */
export function ownContainersOf(pod: Pod): readonly PodContainer[] {
  return [...mainContainersOf(pod), ...initContainersOf(pod)];
}

/** Every container of a pod, main containers first. Names are unique among all of them. */
export function allContainersOf(pod: Pod): readonly PodContainer[] {
  return [...ownContainersOf(pod), ...ephemeralContainersOf(pod)];
}

/** The container of this name. */
export const containerNamed = namedIn((pod) => allContainersOf(pod).map(({ container }) => container));

/** The volume of this name. */
export const volumeNamed = namedIn(({ spec }) => spec?.volumes ?? []);

/** Finds parts of pods by name. A pod may have thousands, and refer to each of them thousands of times. */
function namedIn<T extends { readonly name: string }>(
  partsOf: (pod: Pod) => readonly T[],
): (pod: Pod, name: string) => T | undefined {
  const known = new WeakMap<Pod, ReadonlyMap<string, T>>();
  return (pod, name) => {
    const parts = known.get(pod) ?? new Map(partsOf(pod).map((part) => [part.name, part]));
    known.set(pod, parts);
    return parts.get(name);
  };
}

/** Names of the pod's sidecars. */
export function sidecarsOf(pod: Pod): ReadonlySet<string> {
  return new Set(initContainersOf(pod).flatMap(({ role, container }) => (role === 'sidecar' ? [container.name] : [])));
}

/** A different hash means that the container must be created again. Only the image of a container can change in a pod. */
export function containerHash(container: Container): string {
  return createHash('sha256')
    .update(JSON.stringify([container.name, container.image]))
    .digest('hex')
    .slice(0, 8);
}

/** Seconds between the stop signal and SIGKILL. */
export function graceSecondsOf(pod: Pod): number {
  return pod.metadata.deletionGracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? 30;
}
