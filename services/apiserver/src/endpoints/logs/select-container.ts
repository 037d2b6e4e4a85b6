import { containerStatusOf, lastRunOf, type Pod, StatusError } from '@gantry/objects';

/** The container whose log is meant; BadRequest, in Kubernetes' words, when that is not clear or it is not in the pod. */
export function selectContainer(pod: Pod, wanted: string): string {
  const name = pod.metadata.name ?? '';
  const containers = (pod.spec?.containers ?? []).map((c) => c.name);
  const init = (pod.spec?.initContainers ?? []).map((c) => c.name);
  const ephemeral = (pod.spec?.ephemeralContainers ?? []).map((c) => c.name);
  if (wanted !== '') {
    if ([...containers, ...init, ...ephemeral].includes(wanted)) return wanted;
    throw StatusError.badRequest(`container ${wanted} is not valid for pod ${name}`);
  }
  const [only] = containers;
  if (only !== undefined && containers.length === 1) return only;
  const also = init.length === 0 ? '' : ` or one of the init containers: [${init.join(' ')}]`;
  throw StatusError.badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${containers.join(' ')}]${also}`,
  );
}

/** Throws BadRequest, in the kubelet's words, where the container has no log yet or the previous one is not there. */
export function checkHasLog(pod: Pod, container: string, which: 'current' | 'previous'): void {
  const named = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod.metadata.name ?? '')}`;
  const status = containerStatusOf(pod, container);
  if (status === undefined) {
    if (which === 'previous') throw StatusError.badRequest(`previous terminated ${named} not found`);
    throw StatusError.badRequest(`${named} is waiting to start: ContainerCreating`);
  }
  const last = lastRunOf(pod, container);
  if (which === 'previous') {
    if (last === '') throw StatusError.badRequest(`previous terminated ${named} not found`);
    return;
  }
  if (status.state?.running !== undefined || last !== '') return;
  if (status.state?.terminated !== undefined) {
    if ((status.state.terminated.containerID ?? '') === '') throw StatusError.badRequest(`${named} is terminated`);
    return;
  }
  const reason = status.state?.waiting?.reason;
  switch (reason) {
    case undefined:
      throw StatusError.badRequest(`${named} is waiting to start - no logs yet`);
    case 'ErrImagePull':
      throw StatusError.badRequest(`${named} is waiting to start: image can't be pulled`);
    case 'ImagePullBackOff':
      throw StatusError.badRequest(`${named} is waiting to start: trying and failing to pull image`);
    default:
      throw StatusError.badRequest(`${named} is waiting to start: ${reason}`);
  }
}
