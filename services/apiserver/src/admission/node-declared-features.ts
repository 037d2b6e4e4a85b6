import { equalJson, type Node, NODES, type Pod, type PodSpec } from '@gantry/objects';
import { type AdmissionCheck, isCore } from './check/admission-check.ts';
import { refuse } from './check/refuse.ts';

/** Changes of pods that only some nodes support, by name of the declared feature. */
const NEEDS: Readonly<Record<string, (spec: PodSpec, old: PodSpec) => boolean>> = {
  InPlacePodLevelResourcesVerticalScaling: (spec, old) => !equalJson(spec.resources ?? {}, old.resources ?? {}),
  InPlacePodVerticalScalingInitContainers: (spec, old) =>
    (old.initContainers ?? []).some(
      ({ restartPolicy, resources }, i) =>
        restartPolicy !== 'Always' && !equalJson(resources ?? {}, spec.initContainers?.[i]?.resources ?? {}),
    ),
};

/** Rejects changes of a pod for which its node has not declared the feature. */
export const nodeDeclaredFeatures: AdmissionCheck = {
  name: 'NodeDeclaredFeatureValidator',
  validate: async (request, reader) => {
    if (request.operation !== 'update' || (!isCore(request, 'pods') && !isCore(request, 'pods', 'resize'))) return;
    const { metadata, spec }: Pod = request.object;
    const old: Pod | undefined = request.old;
    const nodeName = spec?.nodeName ?? '';
    if (spec === undefined || old?.spec === undefined || nodeName === '') return;
    if (metadata.generation === old.metadata.generation) return;
    const { spec: before } = old;
    const needed = Object.keys(NEEDS).filter((feature) => NEEDS[feature]?.(spec, before) === true);
    if (needed.length === 0) return;
    const node = await reader.find<Node>(NODES, '', nodeName);
    if (node === undefined) throw refuse(request, `node ${JSON.stringify(nodeName)} not found`);
    const missing = needed.filter((feature) => node.status?.declaredFeatures?.includes(feature) !== true);
    if (missing.length === 0) return;
    const features = missing.join(', ');
    throw refuse(
      request,
      `pod update requires features ${features} which are not available on node ${JSON.stringify(nodeName)}`,
    );
  },
};
