import type { PersistentVolumeClaimSpec, PersistentVolumeSpec } from '@gantry/objects';
import { diffLines } from '../../go-printing/line-diff.ts';
import { dump } from '../../go-printing/pod-spec-dump.ts';

const SECRET = 'SecretRef:?SecretReference';

/** Fields in the order and with the names that Kubernetes prints; the notation is that of a pod's parts. */
const LAYOUT: Readonly<Record<string, string>> = {
  PersistentVolumeClaimSpec:
    'AccessModes:n Selector:n Resources:=VolumeResourceRequirements VolumeName:s StorageClassName:n VolumeMode:n DataSource:?TypedLocalObjectReference DataSourceRef:?TypedObjectReference VolumeAttributesClassName:n',
  VolumeResourceRequirements: 'Limits:n Requests:n',
  TypedLocalObjectReference: 'APIGroup:n Kind:s Name:s',
  TypedObjectReference: 'APIGroup:n Kind:s Name:s Namespace:n',
  PersistentVolumeSource:
    'GCEPersistentDisk:?GCEPersistentDisk AWSElasticBlockStore:?AWSElasticBlockStore HostPath:?HostPath Glusterfs:?Glusterfs NFS:?NFS RBD:?RBD Quobyte:?Quobyte ISCSI:?ISCSI FlexVolume:?FlexVolume Cinder:?Cinder CephFS:?CephFS FC:?FC Flocker:?Flocker AzureFile:?AzureFile VsphereVolume:?VsphereVolume AzureDisk:?AzureDisk PhotonPersistentDisk:?PhotonPersistentDisk PortworxVolume:?PortworxVolume ScaleIO:?ScaleIO Local:?Local StorageOS:?StorageOS CSI:?CSI',
  GCEPersistentDisk: 'PDName:s FSType:s Partition:i ReadOnly:b',
  AWSElasticBlockStore: 'VolumeID:s FSType:s Partition:i ReadOnly:b',
  HostPath: 'Path:s Type:n',
  Glusterfs: 'EndpointsName:s Path:s ReadOnly:b EndpointsNamespace:n',
  NFS: 'Server:s Path:s ReadOnly:b',
  RBD: `CephMonitors:n RBDImage:s FSType:s RBDPool:s RadosUser:s Keyring:s ${SECRET} ReadOnly:b`,
  Quobyte: 'Registry:s Volume:s ReadOnly:b User:s Group:s Tenant:s',
  ISCSI: `TargetPortal:s IQN:s Lun:i ISCSIInterface:s FSType:s ReadOnly:b Portals:n DiscoveryCHAPAuth:b SessionCHAPAuth:b ${SECRET} InitiatorName:n`,
  FlexVolume: `Driver:s FSType:s ${SECRET} ReadOnly:b Options:n`,
  Cinder: `VolumeID:s FSType:s ReadOnly:b ${SECRET}`,
  CephFS: `Monitors:n Path:s User:s SecretFile:s ${SECRET} ReadOnly:b`,
  FC: 'TargetWWNs:n Lun:n FSType:s ReadOnly:b WWIDs:n',
  Flocker: 'DatasetName:s DatasetUUID:s',
  AzureFile: 'SecretName:s ShareName:s ReadOnly:b SecretNamespace:n',
  VsphereVolume: 'VolumePath:s FSType:s StoragePolicyName:s StoragePolicyID:s',
  AzureDisk: 'DiskName:s DataDiskURI:s CachingMode:n FSType:n ReadOnly:n Kind:n',
  PhotonPersistentDisk: 'PdID:s FSType:s',
  PortworxVolume: 'VolumeID:s FSType:s ReadOnly:b',
  ScaleIO: `Gateway:s System:s ${SECRET} SSLEnabled:b ProtectionDomain:s StoragePool:s StorageMode:s VolumeName:s FSType:s ReadOnly:b`,
  Local: 'Path:s FSType:n',
  StorageOS: 'VolumeName:s VolumeNamespace:s FSType:s ReadOnly:b SecretRef:?ObjectReference',
  CSI: 'Driver:s VolumeHandle:s ReadOnly:b FSType:s VolumeAttributes:n ControllerPublishSecretRef:?SecretReference NodeStageSecretRef:?SecretReference NodePublishSecretRef:?SecretReference ControllerExpandSecretRef:?SecretReference NodeExpandSecretRef:?SecretReference',
  SecretReference: 'Name:s Namespace:s',
  ObjectReference: 'Kind:s Namespace:s Name:s UID:s APIVersion:s ResourceVersion:s FieldPath:s',
};

/** The difference between two claim specs as Kubernetes prints it. */
export function diffClaimSpecs(old: PersistentVolumeClaimSpec, changed: PersistentVolumeClaimSpec): string {
  return diff(old, changed, 'PersistentVolumeClaimSpec');
}

/** The difference between two volume sources as Kubernetes prints it. */
export function diffVolumeSources(old: PersistentVolumeSpec, changed: PersistentVolumeSpec): string {
  return diff(old, changed, 'PersistentVolumeSource');
}

function diff(old: object, changed: object, part: string): string {
  return diffLines(dump(old, part, LAYOUT), dump(changed, part, LAYOUT));
}
