import { createHash } from 'node:crypto';
import type { Container, Pod } from '@gantry/api';

/** `sidecar`: an init container that is restarted always and lives beside the main ones. */
export type ContainerRole = 'init' | 'sidecar' | 'main';

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

export function mainContainersOf(pod: Pod): readonly PodContainer[] {
  return (pod.spec?.containers ?? []).map((container) => ({ role: 'main', container }));
}

/** Changes when a container must be made anew: only its image may change while the pod lives. */
export function containerHash(container: Container): string {
  return createHash('sha256')
    .update(JSON.stringify([container.name, container.image]))
    .digest('hex')
    .slice(0, 8);
}

/** Whether a container that ended so is started again. */
export function shouldRestart(pod: Pod, role: ContainerRole, exitCode: number): boolean {
  const policy = pod.spec?.restartPolicy ?? 'Always';
  switch (role) {
    case 'sidecar':
      return true;
    case 'init':
      return exitCode !== 0 && policy !== 'Never';
    case 'main':
      return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
  }
}

/** `name_namespace(uid)`: how kubelet names a pod in messages. */
export function formatPod(pod: Pod): string {
  return `${pod.metadata.name ?? ''}_${pod.metadata.namespace ?? ''}(${pod.metadata.uid ?? ''})`;
}

/** Where a pod's spec has this container, in the way in which Events name it. */
export function containerPath(pod: Pod, name: string): string {
  const isInit = (pod.spec?.initContainers ?? []).some((container) => container.name === name);
  return `spec.${isInit ? 'initContainers' : 'containers'}{${name}}`;
}

/** Seconds between the stop signal and SIGKILL. */
export function graceSecondsOf(pod: Pod): number {
  return pod.metadata.deletionGracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? 30;
}
