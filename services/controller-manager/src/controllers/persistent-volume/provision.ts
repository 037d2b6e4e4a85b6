import {
  BETA_STORAGE_PROVISIONER,
  type PersistentVolumeClaim,
  STORAGE_PROVISIONER,
  type StorageClass,
} from '@gantry/objects';
import { type Action, eventAbout } from './action.ts';

/** Kubernetes' built-in provisioner, which is off by default, and the name of its volume plugin. */
export const HOST_PATH = 'kubernetes.io/host-path';

/** Requests a volume: writes the provisioner's name to the claim, which that provisioner watches. */
export function planProvisioning(
  claim: PersistentVolumeClaim,
  className: string,
  storageClass: StorageClass | undefined,
): readonly Action[] {
  const failed = (message: string) => [eventAbout(claim, 'Warning', 'ProvisioningFailed', message)];
  if (storageClass === undefined) return failed(`storageclass.storage.k8s.io ${JSON.stringify(className)} not found`);
  const { provisioner } = storageClass;
  const driver = driverOf(provisioner);
  if (provisioner === HOST_PATH) {
    return [
      ...planProvisioner(claim, provisioner),
      ...failed(
        `Failed to create provisioner: provisioning in volume plugin ${JSON.stringify(provisioner)} is disabled`,
      ),
    ];
  }
  if (driver === undefined && isInTree(provisioner)) return failed(`no volume plugin matched name: ${provisioner}`);
  const name = driver ?? provisioner;
  return [
    ...planProvisioner(claim, name),
    eventAbout(
      claim,
      'Normal',
      'ExternalProvisioning',
      `Waiting for a volume to be created either by the external provisioner '${name}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`,
    ),
  ];
}

function planProvisioner(claim: PersistentVolumeClaim, provisioner: string): readonly Action[] {
  const { annotations } = claim.metadata;
  if (annotations?.[STORAGE_PROVISIONER] === provisioner) return [];
  const named = { ...annotations, [BETA_STORAGE_PROVISIONER]: provisioner, [STORAGE_PROVISIONER]: provisioner };
  const metadata = { ...claim.metadata, annotations: { ...migratedAnnotations(named, provisioner) } };
  return [{ kind: 'updateClaim', claim: { ...claim, metadata } }];
}

/** The CSI drivers that have permanently replaced Kubernetes' built-in provisioners in 1.36. */
const DRIVERS: Readonly<Record<string, string>> = {
  'kubernetes.io/aws-ebs': 'ebs.csi.aws.com',
  'kubernetes.io/gce-pd': 'pd.csi.storage.gke.io',
  'kubernetes.io/azure-disk': 'disk.csi.azure.com',
  'kubernetes.io/azure-file': 'file.csi.azure.com',
  'kubernetes.io/cinder': 'cinder.csi.openstack.org',
  'kubernetes.io/vsphere-volume': 'csi.vsphere.vmware.com',
  'kubernetes.io/portworx-volume': 'pxd.portworx.com',
};

/** On volumes and claims: the CSI driver that replaces their provisioner. */
export const MIGRATED_TO = 'pv.kubernetes.io/migrated-to';

/** Whether a provisioner is built into Kubernetes. */
export function isInTree(provisioner: string): boolean {
  return provisioner.startsWith('kubernetes.io/');
}

/** The driver that replaces a built-in provisioner; undefined for other provisioners. */
export function driverOf(provisioner: string): string | undefined {
  return Object.hasOwn(DRIVERS, provisioner) ? DRIVERS[provisioner] : undefined;
}

type Annotations = Readonly<Record<string, string>>;

/** The annotations with the driver for the provisioner; the same object if nothing changes. */
export function migratedAnnotations(annotations: Annotations, provisioner: string | undefined): Annotations {
  if (provisioner === undefined) return annotations;
  const driver = driverOf(provisioner);
  const { [MIGRATED_TO]: current, ...rest } = annotations;
  if (driver === current) return annotations;
  return driver === undefined ? rest : { ...rest, [MIGRATED_TO]: driver };
}
