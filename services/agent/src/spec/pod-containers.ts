import { createHash } from 'node:crypto';
import type { Container, Pod } from '@gantry/objects';

/**
 * `sidecar`: an init container with restart policy Always, which runs beside the main containers. `ephemeral`: one that was added to
 * look into the pod, and is started once.
 */
export type ContainerRole = 'init' | 'sidecar' | 'main' | 'ephemeral';

/** A container with its role in the pod. */
export interface PodContainer {
  readonly role: ContainerRole;
  readonly container: Container;
}

/** Init containers in their order, sidecars among them. */
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

/** The container whose processes an ephemeral container sees, '' for those of its own. */
export function targetOf(pod: Pod, name: string): string {
  return pod.spec?.ephemeralContainers?.find((container) => container.name === name)?.targetContainerName ?? '';
}

/** Every container that a pod was created with, main ones first. */
export function ownContainersOf(pod: Pod): readonly PodContainer[] {
  return [...mainContainersOf(pod), ...initContainersOf(pod)];
}

/** Every container of a pod, main ones first: names are unique among all of them. */
export function allContainersOf(pod: Pod): readonly PodContainer[] {
  return [...ownContainersOf(pod), ...ephemeralContainersOf(pod)];
}

/** The container of this name. */
export function containerNamed(pod: Pod, name: string): Container | undefined {
  return allContainersOf(pod).find(({ container }) => container.name === name)?.container;
}

/** Names of the pod's sidecars. */
export function sidecarsOf(pod: Pod): ReadonlySet<string> {
  return new Set(initContainersOf(pod).flatMap(({ role, container }) => (role === 'sidecar' ? [container.name] : [])));
}

/** Changes when a container must be created again: only its image may change while the pod lives. */
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
