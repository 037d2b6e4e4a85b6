import type { KubeObject } from '@gantry/objects';

/** The subject of Events about a node. As in those of the kubelet, its name stands for its uid. */
export function nodeReference(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name } };
}
