import { carryGivenEmpty, givenEmpty } from '@gantry/apimachinery';
import type { PodSpec } from '@gantry/objects';

/**
 * Fields of a pod's parts in the order and with the names that Kubernetes prints in messages. After the colon: `s` string, `i` number, `b`
 * boolean, `q` quantity, `n` null if absent, `=X` a part that is always present, `?X` an optional part, `[]X` a list of parts.
 */
const LAYOUT: Readonly<Record<string, string>> = {
  PodSpec:
    'Volumes:[]Volume InitContainers:[]Container Containers:[]Container EphemeralContainers:n RestartPolicy:s TerminationGracePeriodSeconds:n ActiveDeadlineSeconds:n DNSPolicy:s NodeSelector:n ServiceAccountName:s AutomountServiceAccountToken:n NodeName:s SecurityContext:?PodSecurityContext ImagePullSecrets:[]LocalObjectReference Hostname:s Subdomain:s SetHostnameAsFQDN:n Affinity:?Affinity SchedulerName:s Tolerations:[]Toleration HostAliases:[]HostAlias PriorityClassName:s Priority:n PreemptionPolicy:n DNSConfig:?PodDNSConfig ReadinessGates:[]PodReadinessGate RuntimeClassName:n Overhead:n EnableServiceLinks:n TopologySpreadConstraints:[]TopologySpreadConstraint OS:?PodOS SchedulingGates:[]PodSchedulingGate ResourceClaims:[]PodResourceClaim Resources:?ResourceRequirements HostnameOverride:n SchedulingGroup:n',
  Volume:
    'Name:s HostPath:?HostPathVolumeSource EmptyDir:?EmptyDirVolumeSource GCEPersistentDisk:n AWSElasticBlockStore:n GitRepo:n Secret:?SecretVolumeSource NFS:?NFSVolumeSource ISCSI:n Glusterfs:n PersistentVolumeClaim:?PersistentVolumeClaimVolumeSource RBD:n Quobyte:n FlexVolume:n Cinder:n CephFS:n Flocker:n DownwardAPI:?DownwardAPIVolumeSource FC:n AzureFile:n ConfigMap:?ConfigMapVolumeSource VsphereVolume:n AzureDisk:n PhotonPersistentDisk:n Projected:?ProjectedVolumeSource PortworxVolume:n ScaleIO:n StorageOS:n CSI:n Ephemeral:n Image:?ImageVolumeSource',
  HostPathVolumeSource: 'Path:s Type:n',
  EmptyDirVolumeSource: 'Medium:s SizeLimit:n',
  SecretVolumeSource: 'SecretName:s Items:[]KeyToPath DefaultMode:n Optional:n',
  NFSVolumeSource: 'Server:s Path:s ReadOnly:b',
  PersistentVolumeClaimVolumeSource: 'ClaimName:s ReadOnly:b',
  DownwardAPIVolumeSource: 'Items:[]DownwardAPIVolumeFile DefaultMode:n',
  DownwardAPIVolumeFile: 'Path:s FieldRef:?ObjectFieldSelector ResourceFieldRef:?ResourceFieldSelector Mode:n',
  ConfigMapVolumeSource: 'Name:s Items:[]KeyToPath DefaultMode:n Optional:n',
  ImageVolumeSource: 'Reference:s PullPolicy:s',
  KeyToPath: 'Key:s Path:s Mode:n',
  ProjectedVolumeSource: 'Sources:[]VolumeProjection DefaultMode:n',
  VolumeProjection:
    'Secret:?KeyedProjection DownwardAPI:?DownwardAPIProjection ConfigMap:?KeyedProjection ServiceAccountToken:?ServiceAccountTokenProjection ClusterTrustBundle:n PodCertificate:n',
  KeyedProjection: 'Name:s Items:[]KeyToPath Optional:n',
  DownwardAPIProjection: 'Items:[]DownwardAPIVolumeFile',
  ServiceAccountTokenProjection: 'Audience:s ExpirationSeconds:i Path:s',
  Container:
    'Name:s Image:s Command:n Args:n WorkingDir:s Ports:[]ContainerPort EnvFrom:[]EnvFromSource Env:[]EnvVar Resources:=ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:n RestartPolicyRules:n VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice LivenessProbe:?Probe ReadinessProbe:?Probe StartupProbe:?Probe Lifecycle:?Lifecycle TerminationMessagePath:s TerminationMessagePolicy:s ImagePullPolicy:s SecurityContext:?SecurityContext Stdin:b StdinOnce:b TTY:b',
  ContainerPort: 'Name:s HostPort:i ContainerPort:i Protocol:s HostIP:s',
  EnvFromSource: 'Prefix:s ConfigMapRef:?EnvSource SecretRef:?EnvSource',
  EnvSource: 'Name:s Optional:n',
  EnvVar: 'Name:s Value:s ValueFrom:?EnvVarSource',
  EnvVarSource:
    'FieldRef:?ObjectFieldSelector ResourceFieldRef:?ResourceFieldSelector ConfigMapKeyRef:?KeySelector SecretKeyRef:?KeySelector FileKeyRef:?FileKeySelector',
  ObjectFieldSelector: 'APIVersion:s FieldPath:s',
  ResourceFieldSelector: 'ContainerName:s Resource:s Divisor:q',
  KeySelector: 'Name:s Key:s Optional:n',
  FileKeySelector: 'VolumeName:s Path:s Key:s Optional:n',
  ResourceRequirements: 'Limits:n Requests:n Claims:[]ResourceClaim',
  ResourceClaim: 'Name:s Request:s',
  ContainerResizePolicy: 'ResourceName:s RestartPolicy:s',
  VolumeMount: 'Name:s ReadOnly:b RecursiveReadOnly:n MountPath:s SubPath:s MountPropagation:n SubPathExpr:s',
  VolumeDevice: 'Name:s DevicePath:s',
  Probe:
    'Exec:?ExecAction HTTPGet:?HTTPGetAction TCPSocket:?TCPSocketAction GRPC:?GRPCAction InitialDelaySeconds:i TimeoutSeconds:i PeriodSeconds:i SuccessThreshold:i FailureThreshold:i TerminationGracePeriodSeconds:n',
  ExecAction: 'Command:n',
  HTTPGetAction: 'Path:s Port:i Host:s Scheme:s HTTPHeaders:[]HTTPHeader',
  HTTPHeader: 'Name:s Value:s',
  TCPSocketAction: 'Port:i Host:s',
  GRPCAction: 'Port:i Service:n',
  Lifecycle: 'PostStart:?LifecycleHandler PreStop:?LifecycleHandler StopSignal:n',
  LifecycleHandler: 'Exec:?ExecAction HTTPGet:?HTTPGetAction TCPSocket:?TCPSocketAction Sleep:?SleepAction',
  SleepAction: 'Seconds:i',
  SecurityContext:
    'Capabilities:?Capabilities Privileged:n SELinuxOptions:?SELinuxOptions WindowsOptions:n RunAsUser:n RunAsGroup:n RunAsNonRoot:n ReadOnlyRootFilesystem:n AllowPrivilegeEscalation:n ProcMount:n SeccompProfile:?SeccompProfile AppArmorProfile:?SeccompProfile',
  Capabilities: 'Add:n Drop:n',
  SELinuxOptions: 'User:s Role:s Type:s Level:s',
  SeccompProfile: 'Type:s LocalhostProfile:n',
  PodSecurityContext:
    'HostNetwork:b HostPID:b HostIPC:b ShareProcessNamespace:n HostUsers:n SELinuxOptions:?SELinuxOptions WindowsOptions:n RunAsUser:n RunAsGroup:n RunAsNonRoot:n SupplementalGroups:n SupplementalGroupsPolicy:n FSGroup:n FSGroupChangePolicy:n Sysctls:[]Sysctl SeccompProfile:?SeccompProfile AppArmorProfile:?SeccompProfile SELinuxChangePolicy:n',
  Sysctl: 'Name:s Value:s',
  LocalObjectReference: 'Name:s',
  Affinity: 'NodeAffinity:?NodeAffinity PodAffinity:?PodAffinity PodAntiAffinity:?PodAffinity',
  NodeAffinity:
    'RequiredDuringSchedulingIgnoredDuringExecution:?NodeSelector PreferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm',
  NodeSelector: 'NodeSelectorTerms:[]NodeSelectorTerm',
  NodeSelectorTerm: 'MatchExpressions:[]NodeSelectorRequirement MatchFields:[]NodeSelectorRequirement',
  NodeSelectorRequirement: 'Key:s Operator:s Values:n',
  PreferredSchedulingTerm: 'Weight:i Preference:=NodeSelectorTerm',
  PodAffinity:
    'RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm',
  WeightedPodAffinityTerm: 'Weight:i PodAffinityTerm:=PodAffinityTerm',
  PodAffinityTerm:
    'LabelSelector:n Namespaces:n TopologyKey:s NamespaceSelector:n MatchLabelKeys:n MismatchLabelKeys:n',
  Toleration: 'Key:s Operator:s Value:s Effect:s TolerationSeconds:n',
  HostAlias: 'IP:s Hostnames:n',
  PodDNSConfig: 'Nameservers:n Searches:n Options:[]PodDNSConfigOption',
  PodDNSConfigOption: 'Name:s Value:n',
  PodReadinessGate: 'ConditionType:s',
  TopologySpreadConstraint:
    'MaxSkew:i TopologyKey:s WhenUnsatisfiable:s LabelSelector:n MinDomains:n NodeAffinityPolicy:n NodeTaintsPolicy:n MatchLabelKeys:n',
  PodOS: 'Name:s',
  PodSchedulingGate: 'Name:s',
  PodResourceClaim: 'Name:s ResourceClaimName:n ResourceClaimTemplateName:n',
};

const ZERO: Readonly<Record<string, unknown>> = { s: '', i: 0, b: false, q: '0', n: null };
const IRREGULAR: Readonly<Record<string, string>> = {
  CephFS: 'cephfs',
  StorageOS: 'storageos',
  EndpointsName: 'endpoints',
  CephMonitors: 'monitors',
  RBDImage: 'image',
  RBDPool: 'pool',
  RadosUser: 'user',
  ISCSIInterface: 'iscsiInterface',
  DiscoveryCHAPAuth: 'chapAuthDiscovery',
  SessionCHAPAuth: 'chapAuthSession',
  TargetWWNs: 'targetWWNs',
  WWIDs: 'wwids',
  DataDiskURI: 'diskURI',
};

/** A pod's spec as Kubernetes prints it in errors about immutable fields: every field, one per line. */
export function dumpPodSpec(spec: PodSpec): string {
  return printJson(printedPodSpec(spec));
}

/** A part of an object as Kubernetes prints it; `layout` lists the fields of its parts. */
export function dump(value: object, part: string, layout: Readonly<Record<string, string>>): string {
  return printJson(layOut(value, part, layout));
}

function printJson(value: object): string {
  return JSON.stringify(value, undefined, 1).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The same as a value. */
export function printedPodSpec(spec: PodSpec): object {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers } = spec;
  const own = { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers };
  const whole = { ...spec };
  carryGivenEmpty(spec, whole);
  if (spec.securityContext !== undefined) {
    whole.securityContext = { ...spec.securityContext, ...own };
    carryGivenEmpty(spec.securityContext, whole.securityContext);
  }
  return layOut(whole, 'PodSpec', LAYOUT);
}

function layOut(value: object, part: string, layout: Readonly<Record<string, string>>): Record<string, unknown> {
  const from = value as Record<string, unknown>;
  const out: Record<string, unknown> = {};
  for (const item of (layout[part] ?? '').split(' ')) {
    const [name = '', form = 'n'] = item.split(':');
    const field = fieldName(name);
    out[name] = layOutField(from[field] ?? givenEmpty(from, field), form, layout);
  }
  return out;
}

function layOutField(value: unknown, form: string, layout: Readonly<Record<string, string>>): unknown {
  if (form.startsWith('[]'))
    return Array.isArray(value) ? value.map((item: object) => layOut(item, form.slice(2), layout)) : null;
  if (form.startsWith('=')) return layOut(value ?? {}, form.slice(1), layout);
  if (form.startsWith('?')) return value === undefined ? null : layOut(value as object, form.slice(1), layout);
  return value === undefined ? ZERO[form] : sortKeys(value);
}

/** Maps are printed in the order of their keys. */
function sortKeys(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The field's name in JSON: `HTTPGet` is `httpGet`, `TTY` is `tty`. */
function fieldName(name: string): string {
  const irregular = IRREGULAR[name];
  if (irregular !== undefined) return irregular;
  const capitals = /^[A-Z]+/.exec(name)?.[0] ?? '';
  const length = capitals.length === name.length ? capitals.length : Math.max(1, capitals.length - 1);
  return name.slice(0, length).toLowerCase() + name.slice(length);
}
