import type { Column, Describe, ResourceDefinition } from '@gantry/api';

/** Columns that show one field, and are described as that field is: `<kind> <column>` to schema and field. */
const FIELDS: Readonly<Record<string, readonly [schema: string, field: string]>> = {
  Name: ['meta.v1.ObjectMeta', 'name'],
  Age: ['meta.v1.ObjectMeta', 'creationTimestamp'],
  'Created At': ['meta.v1.ObjectMeta', 'creationTimestamp'],
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
  'DaemonSet Desired': ['apps.v1.DaemonSetStatus', 'desiredNumberScheduled'],
  'DaemonSet Current': ['apps.v1.DaemonSetStatus', 'currentNumberScheduled'],
  'DaemonSet Ready': ['apps.v1.DaemonSetStatus', 'numberReady'],
  'DaemonSet Up-to-date': ['apps.v1.DaemonSetStatus', 'updatedNumberScheduled'],
  'DaemonSet Available': ['apps.v1.DaemonSetStatus', 'numberAvailable'],
  'DaemonSet Node Selector': ['core.v1.PodSpec', 'nodeSelector'],
  'ControllerRevision Revision': ['apps.v1.ControllerRevision', 'revision'],
  'Job Completions': ['batch.v1.JobStatus', 'succeeded'],
  'CronJob Schedule': ['batch.v1.CronJobSpec', 'schedule'],
  'CronJob Timezone': ['batch.v1.CronJobSpec', 'timeZone'],
  'CronJob Suspend': ['batch.v1.CronJobSpec', 'suspend'],
  'CronJob Active': ['batch.v1.CronJobStatus', 'active'],
  'CronJob Last Schedule': ['batch.v1.CronJobStatus', 'lastScheduleTime'],
  'HorizontalPodAutoscaler Targets': ['autoscaling.v2.HorizontalPodAutoscalerSpec', 'metrics'],
  'HorizontalPodAutoscaler MinPods': ['autoscaling.v2.HorizontalPodAutoscalerSpec', 'minReplicas'],
  'HorizontalPodAutoscaler MaxPods': ['autoscaling.v2.HorizontalPodAutoscalerSpec', 'maxReplicas'],
  'HorizontalPodAutoscaler Replicas': ['autoscaling.v2.HorizontalPodAutoscalerStatus', 'currentReplicas'],
  'ReplicationController Desired': ['core.v1.ReplicationControllerSpec', 'replicas'],
  'ReplicationController Current': ['core.v1.ReplicationControllerStatus', 'replicas'],
  'ReplicationController Ready': ['core.v1.ReplicationControllerStatus', 'readyReplicas'],
  'ReplicationController Selector': ['core.v1.ReplicationControllerSpec', 'selector'],
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
  'Endpoints Endpoints': ['core.v1.Endpoints', 'subsets'],
  'PersistentVolume Capacity': ['core.v1.PersistentVolumeSpec', 'capacity'],
  'PersistentVolume Access Modes': ['core.v1.PersistentVolumeSpec', 'accessModes'],
  'PersistentVolume Reclaim Policy': ['core.v1.PersistentVolumeSpec', 'persistentVolumeReclaimPolicy'],
  'PersistentVolume Status': ['core.v1.PersistentVolumeStatus', 'phase'],
  'PersistentVolume Claim': ['core.v1.PersistentVolumeSpec', 'claimRef'],
  'PersistentVolume Reason': ['core.v1.PersistentVolumeStatus', 'reason'],
  'PersistentVolume VolumeMode': ['core.v1.PersistentVolumeSpec', 'volumeMode'],
  'PersistentVolumeClaim Status': ['core.v1.PersistentVolumeClaimStatus', 'phase'],
  'PersistentVolumeClaim Volume': ['core.v1.PersistentVolumeClaimSpec', 'volumeName'],
  'PersistentVolumeClaim Capacity': ['core.v1.PersistentVolumeClaimStatus', 'capacity'],
  'PersistentVolumeClaim Access Modes': ['core.v1.PersistentVolumeClaimStatus', 'accessModes'],
  'PersistentVolumeClaim VolumeMode': ['core.v1.PersistentVolumeClaimSpec', 'volumeMode'],
  'StorageClass Provisioner': ['storage.v1.StorageClass', 'provisioner'],
  'StorageClass ReclaimPolicy': ['storage.v1.StorageClass', 'reclaimPolicy'],
  'StorageClass VolumeBindingMode': ['storage.v1.StorageClass', 'volumeBindingMode'],
  'StorageClass AllowVolumeExpansion': ['storage.v1.StorageClass', 'allowVolumeExpansion'],
  'VolumeAttributesClass DriverName': ['storage.v1.VolumeAttributesClass', 'driverName'],
  'VolumeAttachment Attacher': ['storage.v1.VolumeAttachmentSpec', 'attacher'],
  'VolumeAttachment PV': ['storage.v1.VolumeAttachmentSource', 'persistentVolumeName'],
  'VolumeAttachment Node': ['storage.v1.VolumeAttachmentSpec', 'nodeName'],
  'VolumeAttachment Attached': ['storage.v1.VolumeAttachmentStatus', 'attached'],
  'EndpointSlice AddressType': ['discovery.v1.EndpointSlice', 'addressType'],
  'EndpointSlice Ports': ['discovery.v1.EndpointSlice', 'ports'],
  'EndpointSlice Endpoints': ['discovery.v1.EndpointSlice', 'endpoints'],
  'CSIDriver AttachRequired': ['storage.v1.CSIDriverSpec', 'attachRequired'],
  'CSIDriver PodInfoOnMount': ['storage.v1.CSIDriverSpec', 'podInfoOnMount'],
  'CSIDriver StorageCapacity': ['storage.v1.CSIDriverSpec', 'storageCapacity'],
  'CSIDriver TokenRequests': ['storage.v1.CSIDriverSpec', 'tokenRequests'],
  'CSIDriver RequiresRepublish': ['storage.v1.CSIDriverSpec', 'requiresRepublish'],
  'CSIDriver Modes': ['storage.v1.CSIDriverSpec', 'volumeLifecycleModes'],
  'NetworkPolicy Pod-Selector': ['networking.v1.NetworkPolicySpec', 'podSelector'],
  'ServiceCIDR CIDRs': ['networking.v1.ServiceCIDRSpec', 'cidrs'],
  'IPAddress ParentRef': ['networking.v1.IPAddressSpec', 'parentRef'],
  'CertificateSigningRequest RequestedDuration': ['certificates.v1.CertificateSigningRequestSpec', 'expirationSeconds'],
  'Node Version': ['core.v1.NodeSystemInfo', 'kubeletVersion'],
  'Node Internal-IP': ['core.v1.NodeStatus', 'addresses'],
  'Node External-IP': ['core.v1.NodeStatus', 'addresses'],
  'Node OS-Image': ['core.v1.NodeSystemInfo', 'osImage'],
  'Node Kernel-Version': ['core.v1.NodeSystemInfo', 'kernelVersion'],
  'Node Container-Runtime': ['core.v1.NodeSystemInfo', 'containerRuntimeVersion'],
  'PriorityClass Value': ['scheduling.v1.PriorityClass', 'value'],
  'PriorityClass Global-Default': ['scheduling.v1.PriorityClass', 'globalDefault'],
  'PriorityClass PreemptionPolicy': ['scheduling.v1.PriorityClass', 'preemptionPolicy'],
  'ResourceSlice Node': ['resource.v1.ResourceSliceSpec', 'nodeName'],
  'ResourceSlice Driver': ['resource.v1.ResourceSliceSpec', 'driver'],
  'ResourceSlice Pool': ['resource.v1.ResourcePool', 'name'],
  'FlowSchema PriorityLevel': ['flowcontrol.v1.PriorityLevelConfigurationReference', 'name'],
  'FlowSchema MatchingPrecedence': ['flowcontrol.v1.FlowSchemaSpec', 'matchingPrecedence'],
  'PriorityLevelConfiguration Type': ['flowcontrol.v1.PriorityLevelConfigurationSpec', 'type'],
  'PriorityLevelConfiguration NominalConcurrencyShares': [
    'flowcontrol.v1.LimitedPriorityLevelConfiguration',
    'nominalConcurrencyShares',
  ],
  'PriorityLevelConfiguration Queues': ['flowcontrol.v1.QueuingConfiguration', 'queues'],
  'PriorityLevelConfiguration HandSize': ['flowcontrol.v1.QueuingConfiguration', 'handSize'],
  'PriorityLevelConfiguration QueueLengthLimit': ['flowcontrol.v1.QueuingConfiguration', 'queueLengthLimit'],
};

/** Fields whose sentences have paragraphs and indented lines, and no double space of the author's. */
const PARAGRAPHED: ReadonlySet<string> = new Set([
  'storage.v1.CSIDriverSpec',
  'resource.v1.ResourceSliceSpec',
  'resource.v1.ResourcePool',
  'certificates.v1.CertificateSigningRequestSpec',
  'flowcontrol.v1.LimitedPriorityLevelConfiguration',
]);

/** Columns that Kubernetes describes by words of their own. */
const TEXTS: Readonly<Record<string, string>> = {
  'Ingress Class': 'The name of the IngressClass resource that should be used for additional configuration',
  'Ingress Hosts': 'Hosts that incoming requests are matched against before the ingress rule',
  'Ingress Address': 'Address is a list containing ingress points for the load-balancer',
  'Ingress Ports': 'Ports of TLS configurations that open',
  'IngressClass Controller': 'Controller that is responsible for handling this class',
  'IngressClass Parameters': 'A reference to a resource with additional parameters',
  'PersistentVolume StorageClass': 'StorageClass of the pv',
  'PersistentVolume VolumeAttributesClass': 'VolumeAttributesClass of the pv',
  'PersistentVolumeClaim StorageClass': 'StorageClass of the pvc',
  'PersistentVolumeClaim VolumeAttributesClass': 'VolumeAttributesClass of the pvc',
  'ResourceQuota Request': 'Request represents a minimum amount of cpu/memory that a container may consume.',
  'ResourceQuota Limit':
    'Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.',
  'CSINode Drivers': 'Drivers indicates the number of CSI drivers registered on the node',
  'ComponentStatus Status': 'Status of the component conditions',
  'ComponentStatus Message': 'Message of the component conditions',
  'ComponentStatus Error': 'Error of the component conditions',
  'Namespace Status': 'The status of the namespace',
  'Node Status': 'The status of the node',
  'Node Roles': 'The roles of the node',
  'Pod Ready': 'The aggregate readiness state of this pod for accepting traffic.',
  'Pod Status': 'The aggregate status of the containers in this pod.',
  'Pod Restarts':
    'The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.',
  'Deployment Ready': 'Number of the pod with ready state',
  Containers: 'Names of each container in the template.',
  Images: 'Images referenced by each container in the template.',
  'Deployment Selector':
    "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels.",
  'ReplicaSet Selector':
    "Selector is a label query over pods that should match the replica count. Label keys and values that must match in order to be controlled by this replica set. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
  'StatefulSet Ready': 'Number of the pod with ready state',
  'ControllerRevision Controller': 'Controller of the object',
  'PodTemplate Pod Labels': 'The labels for the pod template.',
  'PodDisruptionBudget Min Available': 'The minimum number of pods that must be available.',
  'PodDisruptionBudget Max Unavailable': 'The maximum number of pods that may be unavailable.',
  'PodDisruptionBudget Allowed Disruptions': 'Calculated number of pods that may be disrupted at this time.',
  'Job Status': 'Status of the job.',
  'Job Duration': 'Time required to complete the job.',
  'Job Selector':
    'A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors',
  'CronJob Selector':
    'A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors',
  'DaemonSet Selector':
    "A label query over pods that are managed by the daemon set. Must match in order to be controlled. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
  'HorizontalPodAutoscaler Reference':
    'scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should be collected, as well as to actually change the replica count.',
  'Event Object': 'The object that this event is about.',
  'PersistentVolume Claim':
    'claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim. Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding',
  'NetworkPolicy Pod-Selector':
    "podSelector selects the pods to which this NetworkPolicy object applies. The array of rules is applied to any pods selected by this field. An empty selector matches all pods in the policy's namespace. Multiple network policies can select the same set of pods. In this case, the ingress rules for each are combined additively. This field is optional. If it is not specified, it defaults to an empty selector.",
  'CertificateSigningRequest SignerName':
    'Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it\'s a kubelet client certificate, it is assigned\n    "kubernetes.io/kube-apiserver-client-kubelet".\n 2. If it\'s a kubelet serving certificate, it is assigned\n    "kubernetes.io/kubelet-serving".\n 3. Otherwise, it is assigned "kubernetes.io/legacy-unknown".\nDistribution of trust for signers happens out of band. You can select on this field using `spec.signerName`.',
  'CertificateSigningRequest Requestor': 'Base64-encoded PKCS#10 CSR data',
  'CertificateSigningRequest Condition': 'Conditions applied to the request, such as approval or denial.',
  'ClusterRoleBinding Role':
    'RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.',
  'ClusterRoleBinding Users': 'Users in the clusterRoleBinding',
  'ClusterRoleBinding Groups': 'Groups in the clusterRoleBinding',
  'ClusterRoleBinding ServiceAccounts': 'ServiceAccounts in the clusterRoleBinding',
  'RoleBinding Role':
    'RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.',
  'RoleBinding Users': 'Users in the roleBinding',
  'RoleBinding Groups': 'Groups in the roleBinding',
  'RoleBinding ServiceAccounts': 'ServiceAccounts in the roleBinding',
  'APIService Service': 'The reference to the service that hosts this API endpoint.',
  'APIService Available': 'Whether this service is available.',
  'MutatingAdmissionPolicy Mutations': 'Mutation indicates the number of mutations rules defined in this configuration',
  'ValidatingAdmissionPolicy Validations':
    'Validations indicates the number of validation rules defined in this configuration',
  ParamKind: 'ParamKind specifies the kind of resources used to parameterize this policy',
  PolicyName: 'PolicyName indicates the policy definition which the policy binding binded to',
  ParamRef: 'ParamRef indicates the param resource which sets the configuration param',
  Webhooks: 'Webhooks indicates the number of webhooks registered in this configuration',
  'RuntimeClass Handler': '',
  'ResourceClaim State': 'A summary of the current state (allocated, pending, reserved, etc.).',
  'FlowSchema DistinguisherMethod':
    '`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema. `nil` specifies that the distinguisher is disabled and thus will always be the empty string.',
  'FlowSchema MissingPL': 'references a broken or non-existent PriorityLevelConfiguration',
  'Event Source': 'The component reporting this event. Should be a short machine understandable string.',
};

/** What a Table says of a column: the sentence of the field that it shows, or the column's own. */
export function describeColumn(definition: ResourceDefinition, column: Column, describe: Describe): string {
  if (definition.publishedSchema !== undefined && column.format !== 'name' && column.description !== '')
    return column.description;
  const own = `${definition.kind} ${column.name}`;
  const field = FIELDS[own] ?? (TEXTS[own] === undefined ? FIELDS[column.name] : undefined);
  const sentence =
    field === undefined ? (TEXTS[own] ?? TEXTS[column.name]) : withLines(field[0], describe(field[0], field[1]));
  return sentence ?? TEXTS[own] ?? column.description;
}

/** Puts line ends back where they became spaces: two for a paragraph's end, more before a line that is indented. */
function withLines(schema: string, sentence: string | undefined): string | undefined {
  if (sentence === undefined || !PARAGRAPHED.has(schema)) return sentence;
  return sentence
    .replace(/ {4}(?=1\. )/, '\n\n  ')
    .replaceAll(/ ( {2,})/g, '\n$1')
    .replaceAll(' }  ', '\n}  ')
    .replaceAll(/(?<![\n )]) {2}(?! )|(?<=[^(]\)) {2}(?=[A-Z])/g, '\n\n');
}
