import type { Pod, KubeObject } from '@gantry/objects';
import type { PodIdentity } from '../runtime/labels.ts';

/** The identity of a pod for labels and names. */
export function identityOf(pod: Pod): PodIdentity {
  return {
    uid: pod.metadata.uid ?? '',
    namespace: pod.metadata.namespace ?? '',
    name: pod.metadata.name ?? '',
  };
}

/** `name_namespace(uid)`: the form of pods in the kubelet's messages. */
export function formatPod(pod: Pod): string {
  const { name, namespace, uid } = identityOf(pod);
  return `${name}_${namespace}(${uid})`;
}

/** The path of a container in its pod's spec, as Events contain it. */
export function containerPath(pod: Pod, name: string): string {
  const lists = ['initContainers', 'ephemeralContainers'] as const;
  const list = lists.find((field) => pod.spec?.[field]?.some((container) => container.name === name) === true);
  return `spec.${list ?? 'containers'}{${name}}`;
}

/** The object of Events about a node. Like in the kubelet, the name is also the uid. */
export function nodeReference(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name } };
}
