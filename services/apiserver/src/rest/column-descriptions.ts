import type { Column, Describe, ResourceDefinition } from '@gantry/api';

/** Columns that show one field, and are described as that field is: `<kind> <column>` to schema and field. */
const FIELDS: Readonly<Record<string, readonly [schema: string, field: string]>> = {
  Name: ['meta.v1.ObjectMeta', 'name'],
  Age: ['meta.v1.ObjectMeta', 'creationTimestamp'],
  'ConfigMap Data': ['core.v1.ConfigMap', 'data'],
  'Secret Type': ['core.v1.Secret', 'type'],
  'Secret Data': ['core.v1.Secret', 'data'],
  'Lease Holder': ['coordination.v1.LeaseSpec', 'holderIdentity'],
  'Service Type': ['core.v1.ServiceSpec', 'type'],
  'Service Cluster-IP': ['core.v1.ServiceSpec', 'clusterIP'],
  'Service External-IP': ['core.v1.ServiceSpec', 'externalIPs'],
  'Service Port(s)': ['core.v1.ServiceSpec', 'ports'],
  'Service Selector': ['core.v1.ServiceSpec', 'selector'],
  'Deployment Up-to-date': ['apps.v1.DeploymentStatus', 'updatedReplicas'],
  'Deployment Available': ['apps.v1.DeploymentStatus', 'availableReplicas'],
  'ReplicaSet Desired': ['apps.v1.ReplicaSetSpec', 'replicas'],
  'ReplicaSet Current': ['apps.v1.ReplicaSetStatus', 'replicas'],
  'ReplicaSet Ready': ['apps.v1.ReplicaSetStatus', 'readyReplicas'],
  'Event Last Seen': ['core.v1.Event', 'lastTimestamp'],
  'Event Type': ['core.v1.Event', 'type'],
  'Event Reason': ['core.v1.Event', 'reason'],
  'Event Subobject': ['core.v1.ObjectReference', 'fieldPath'],
  'Event Message': ['core.v1.Event', 'message'],
  'Event First Seen': ['core.v1.Event', 'firstTimestamp'],
  'Event Count': ['core.v1.Event', 'count'],
  'Pod IP': ['core.v1.PodStatus', 'podIP'],
  'Pod Node': ['core.v1.PodSpec', 'nodeName'],
  'Pod Nominated Node': ['core.v1.PodStatus', 'nominatedNodeName'],
  'Pod Readiness Gates': ['core.v1.PodSpec', 'readinessGates'],
  'CertificateSigningRequest SignerName': ['certificates.v1.CertificateSigningRequestSpec', 'signerName'],
  'CertificateSigningRequest RequestedDuration': ['certificates.v1.CertificateSigningRequestSpec', 'expirationSeconds'],
};

/** Columns that Kubernetes describes by words of their own. */
const TEXTS: Readonly<Record<string, string>> = {
  'Namespace Status': 'The status of the namespace',
  'Node Status': 'The status of the node',
  'Node Roles': 'The roles of the node',
  'Pod Ready': 'The aggregate readiness state of this pod for accepting traffic.',
  'Pod Status': 'The aggregate status of the containers in this pod.',
  'Pod Restarts':
    'The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.',
  'Deployment Ready': 'Number of the pod with ready state',
  'Deployment Containers': 'Names of each container in the template.',
  'Deployment Images': 'Images referenced by each container in the template.',
  'Deployment Selector':
    "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels.",
  'ReplicaSet Containers': 'Names of each container in the template.',
  'ReplicaSet Images': 'Images referenced by each container in the template.',
  'ReplicaSet Selector':
    "Selector is a label query over pods that should match the replica count. Label keys and values that must match in order to be controlled by this replica set. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
  'Event Object': 'The object that this event is about.',
  'Event Source': 'The component reporting this event. Should be a short machine understandable string.',
};

/** What a Table says of a column: the sentence of the field that it shows, or the column's own. */
export function describeColumn(definition: ResourceDefinition, column: Column, describe: Describe): string {
  const own = `${definition.kind} ${column.name}`;
  const field = FIELDS[own] ?? (TEXTS[own] === undefined ? FIELDS[column.name] : undefined);
  const sentence = field === undefined ? TEXTS[own] : describe(field[0], field[1]);
  return sentence ?? column.description;
}
