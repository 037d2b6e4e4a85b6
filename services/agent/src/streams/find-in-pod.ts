import { StatusError } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import type { Owner } from '../runtime/labels.ts';
import type { PodState } from '../runtime/observer.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** The pod of this node that a call refers to. */
interface PodReference {
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
}

/** A running container of a pod on this node. StatusError 'NotFound' with the kubelet's message when there is none. */
export async function findRunningContainer(
  runtime: Runtime,
  owner: Owner,
  reference: PodReference & { readonly container: string },
  signal: AbortSignal,
): Promise<ContainerState> {
  const pod = await findPod(runtime, owner, reference, signal);
  const found = pod.containers.find(({ name, state }) => name === reference.container && state === 'running');
  if (found === undefined) throw notFound(`container not found (${JSON.stringify(reference.container)})`);
  return found;
}

/** The id of the running sandbox. StatusError 'NotFound' when there is none. */
export async function findRunningSandbox(
  runtime: Runtime,
  owner: Owner,
  reference: PodReference,
  signal: AbortSignal,
): Promise<string> {
  const pod = await findPod(runtime, owner, reference, signal);
  const found = pod.sandboxes.find(({ state }) => state === 'running');
  if (found === undefined)
    throw notFound(`pod not found (${JSON.stringify(`${reference.pod}_${reference.namespace}`)})`);
  return found.id;
}

async function findPod(
  runtime: Runtime,
  owner: Owner,
  { namespace, pod, podUid }: PodReference,
  signal: AbortSignal,
): Promise<PodState> {
  const states = await runtime.observer.listPods({ ...owner, podUid }, signal);
  const found = states.find(({ identity }) => identity.namespace === namespace && identity.name === pod);
  if (found === undefined) throw notFound('pod does not exist');
  return found;
}

function notFound(message: string): StatusError {
  return new StatusError('NotFound', message);
}
