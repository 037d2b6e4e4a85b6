import { type Binding, type KubeObject, type Node, NODES, type Pod, REGION_LABEL, ZONE_LABEL } from '@gantry/objects';
import { type AdmissionCheck, isCore } from './check/admission-check.ts';

const LABELS = [ZONE_LABEL, REGION_LABEL];

/** Copies the zone and region labels of a node to its pods, also by the Binding. They replace the pod's own labels. */
export const podTopologyLabels: AdmissionCheck = {
  name: 'PodTopologyLabels',
  mutate: async (request, reader) => {
    const { operation } = request;
    if (operation !== 'create' && operation !== 'update') return;
    const object: KubeObject = request.object;
    const name = isCore(request, 'pods', 'binding')
      ? boundNode(object as Binding)
      : isCore(request, 'pods')
        ? (object as Pod).spec?.nodeName
        : undefined;
    const node = (name ?? '') === '' ? undefined : await reader.find<Node>(NODES, '', name ?? '');
    const own = Object.entries(node?.metadata.labels ?? {}).filter(([label]) => LABELS.includes(label));
    if (own.length > 0) object.metadata.labels = { ...object.metadata.labels, ...Object.fromEntries(own) };
  },
};

function boundNode({ target }: Binding): string | undefined {
  return target.kind === 'Node' ? target.name : undefined;
}
