import type { Pod } from '@gantry/objects';
import { backOffAfter } from '../plan/back-off.ts';
import type { ActionContext } from './action-context.ts';
import { addressOf } from './pod-observation.ts';

/** Creates the volumes of a pod and remembers the result. Rejects when the step is aborted. */
export async function mountVolumes(pod: Pod, { state, memory, events, services, step }: ActionContext): Promise<void> {
  const { volumes, configs, clock, random } = services;
  const key = volumesKey(pod, configs.changesOf(pod.metadata.uid ?? ''));
  try {
    await volumes.sync(pod, addressOf(state), step);
    memory.volumes = 'ready';
    memory.volumesKey = key;
    memory.volumesSyncedMs = clock.monotonicMs();
  } catch (error) {
    step.throwIfAborted();
    const before = typeof memory.volumes === 'object' ? memory.volumes : undefined;
    memory.volumes = backOffAfter(error, before, clock.now(), random);
    events.mountFailed(pod, error);
  }
}

/** Changes when the content of a pod's volumes may have changed: objects of the API, or the pod's labels and annotations. */
export function volumesKey(pod: Pod, changes: number): string {
  const { labels = {}, annotations = {} } = pod.metadata;
  return JSON.stringify([changes, labels, annotations]);
}
