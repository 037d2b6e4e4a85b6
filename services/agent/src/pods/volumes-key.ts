import type { Pod } from '@gantry/objects';

/** Changes when the content of a pod's volumes may have changed: what they show of the API, or of the pod itself. */
export function volumesKey(pod: Pod, changes: number): string {
  const { labels = {}, annotations = {} } = pod.metadata;
  return JSON.stringify([changes, labels, annotations]);
}
