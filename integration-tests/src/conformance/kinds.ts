import * as k8s from '@kubernetes/client-node';
import type { ResourceKind } from './resource.ts';

const of =
  (api: ResourceKind['api'], group: string, scope: ResourceKind['scope']) =>
  (resource: string, kind: string): ResourceKind => ({ api, group, version: 'v1', resource, kind, scope });

const core = of(k8s.CoreV1Api, '', 'Namespaced');
const coreCluster = of(k8s.CoreV1Api, '', 'Cluster');
const admission = of(k8s.AdmissionregistrationV1Api, 'admissionregistration.k8s.io', 'Cluster');
const flowControl = of(k8s.FlowcontrolApiserverV1Api, 'flowcontrol.apiserver.k8s.io', 'Cluster');
const networking = of(k8s.NetworkingV1Api, 'networking.k8s.io', 'Namespaced');
const networkingCluster = of(k8s.NetworkingV1Api, 'networking.k8s.io', 'Cluster');
const storage = of(k8s.StorageV1Api, 'storage.k8s.io', 'Namespaced');
const storageCluster = of(k8s.StorageV1Api, 'storage.k8s.io', 'Cluster');
const devices = of(k8s.ResourceV1Api, 'resource.k8s.io', 'Namespaced');
const devicesCluster = of(k8s.ResourceV1Api, 'resource.k8s.io', 'Cluster');
const batch = of(k8s.BatchV1Api, 'batch', 'Namespaced');

/** The resources that the suite goes through, by the names of their kinds. */
export const KINDS = {
  APIService: of(k8s.ApiregistrationV1Api, 'apiregistration.k8s.io', 'Cluster')('apiservices', 'APIService'),
  ConfigMap: core('configmaps', 'ConfigMap'),
  CronJob: batch('cronjobs', 'CronJob'),
  CSIDriver: storageCluster('csidrivers', 'CSIDriver'),
  CSINode: storageCluster('csinodes', 'CSINode'),
  CSIStorageCapacity: storage('csistoragecapacities', 'CSIStorageCapacity'),
  CertificateSigningRequest: of(
    k8s.CertificatesV1Api,
    'certificates.k8s.io',
    'Cluster',
  )('certificatesigningrequests', 'CertificateSigningRequest'),
  CustomResourceDefinition: of(
    k8s.ApiextensionsV1Api,
    'apiextensions.k8s.io',
    'Cluster',
  )('customresourcedefinitions', 'CustomResourceDefinition'),
  DeviceClass: devicesCluster('deviceclasses', 'DeviceClass'),
  Endpoints: core('endpoints', 'Endpoints'),
  EndpointSlice: of(k8s.DiscoveryV1Api, 'discovery.k8s.io', 'Namespaced')('endpointslices', 'EndpointSlice'),
  CoreEvent: core('events', 'Event'),
  Event: of(k8s.EventsV1Api, 'events.k8s.io', 'Namespaced')('events', 'Event'),
  FlowSchema: flowControl('flowschemas', 'FlowSchema'),
  IPAddress: networkingCluster('ipaddresses', 'IPAddress'),
  Ingress: networking('ingresses', 'Ingress'),
  IngressClass: networkingCluster('ingressclasses', 'IngressClass'),
  Job: batch('jobs', 'Job'),
  Lease: of(k8s.CoordinationV1Api, 'coordination.k8s.io', 'Namespaced')('leases', 'Lease'),
  LimitRange: core('limitranges', 'LimitRange'),
  MutatingAdmissionPolicy: admission('mutatingadmissionpolicies', 'MutatingAdmissionPolicy'),
  MutatingAdmissionPolicyBinding: admission('mutatingadmissionpolicybindings', 'MutatingAdmissionPolicyBinding'),
  MutatingWebhookConfiguration: admission('mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'),
  Namespace: coreCluster('namespaces', 'Namespace'),
  Node: coreCluster('nodes', 'Node'),
  PersistentVolume: coreCluster('persistentvolumes', 'PersistentVolume'),
  PersistentVolumeClaim: core('persistentvolumeclaims', 'PersistentVolumeClaim'),
  Pod: core('pods', 'Pod'),
  PodDisruptionBudget: of(k8s.PolicyV1Api, 'policy', 'Namespaced')('poddisruptionbudgets', 'PodDisruptionBudget'),
  PodTemplate: core('podtemplates', 'PodTemplate'),
  PriorityClass: of(k8s.SchedulingV1Api, 'scheduling.k8s.io', 'Cluster')('priorityclasses', 'PriorityClass'),
  PriorityLevelConfiguration: flowControl('prioritylevelconfigurations', 'PriorityLevelConfiguration'),
  ReplicationController: core('replicationcontrollers', 'ReplicationController'),
  ResourceClaim: devices('resourceclaims', 'ResourceClaim'),
  ResourceClaimTemplate: devices('resourceclaimtemplates', 'ResourceClaimTemplate'),
  ResourceQuota: core('resourcequotas', 'ResourceQuota'),
  ResourceSlice: devicesCluster('resourceslices', 'ResourceSlice'),
  RuntimeClass: of(k8s.NodeV1Api, 'node.k8s.io', 'Cluster')('runtimeclasses', 'RuntimeClass'),
  Secret: core('secrets', 'Secret'),
  Service: core('services', 'Service'),
  ServiceAccount: core('serviceaccounts', 'ServiceAccount'),
  ServiceCIDR: networkingCluster('servicecidrs', 'ServiceCIDR'),
  StorageClass: storageCluster('storageclasses', 'StorageClass'),
  ValidatingAdmissionPolicy: admission('validatingadmissionpolicies', 'ValidatingAdmissionPolicy'),
  ValidatingAdmissionPolicyBinding: admission('validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding'),
  ValidatingWebhookConfiguration: admission('validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'),
  VolumeAttachment: storageCluster('volumeattachments', 'VolumeAttachment'),
  VolumeAttributesClass: storageCluster('volumeattributesclasses', 'VolumeAttributesClass'),
} as const satisfies Readonly<Record<string, ResourceKind>>;
