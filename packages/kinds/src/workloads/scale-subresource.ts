import { PART_VERBS, type SubresourceDefinition } from '@gantry/apimachinery';

/** The scale subresource of kinds with a label selector, or with a ReplicationController's map of labels, at `.spec.selector`. */
export const scaleOfSelector: SubresourceDefinition = {
  name: 'scale',
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  verbs: PART_VERBS,
  scale: { specReplicas: '.spec.replicas', statusReplicas: '.status.replicas', selector: '.spec.selector' },
};
