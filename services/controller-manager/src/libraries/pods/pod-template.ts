import { cloneJson, controllerReference, type KubeObject, type Pod, type PodTemplateSpec } from '@gantry/objects';

const MAX_NAME_LENGTH = 253;

/**
 * A pod from a template, controlled by `owner`: with the template's labels, annotations, finalizers and spec, and a name that the API
 * server generates from the owner's. The caller may change the pod.
 */
export function podFromTemplate(template: PodTemplateSpec | undefined, owner: KubeObject): Pod {
  const { metadata = {}, spec } = cloneJson(template ?? {});
  const { labels, annotations, finalizers } = metadata;
  const { name = '', namespace = '' } = owner.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: name.length < MAX_NAME_LENGTH ? `${name}-` : name,
      namespace,
      labels,
      annotations,
      finalizers,
      ownerReferences: [controllerReference(owner)],
    },
    spec,
  };
}
