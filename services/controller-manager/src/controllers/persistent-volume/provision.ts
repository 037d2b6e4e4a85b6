import {
  BETA_STORAGE_PROVISIONER,
  type PersistentVolumeClaim,
  STORAGE_PROVISIONER,
  type StorageClass,
} from '@gantry/objects';
import { type Action, eventAbout } from './action.ts';

/** Kubernetes' own provisioner that it keeps turned off, and the name of the volume plugin. */
export const HOST_PATH = 'kubernetes.io/host-path';

/** Asks for a volume: names the provisioner on the claim, for the one that watches for it. */
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

/** The CSI drivers to which Kubernetes 1.36 has moved its own provisioners, all for good. */
const DRIVERS: Readonly<Record<string, string>> = {
  'kubernetes.io/aws-ebs': 'ebs.csi.aws.com',
  'kubernetes.io/gce-pd': 'pd.csi.storage.gke.io',
  'kubernetes.io/azure-disk': 'disk.csi.azure.com',
  'kubernetes.io/azure-file': 'file.csi.azure.com',
  'kubernetes.io/cinder': 'cinder.csi.openstack.org',
  'kubernetes.io/vsphere-volume': 'csi.vsphere.vmware.com',
  'kubernetes.io/portworx-volume': 'pxd.portworx.com',
};

/** On volumes and claims: the CSI driver that replaces the provisioner that they name. */
export const MIGRATED_TO = 'pv.kubernetes.io/migrated-to';

/** Whether a provisioner is one of Kubernetes' own. */
export function isInTree(provisioner: string): boolean {
  return provisioner.startsWith('kubernetes.io/');
}

/** The driver that replaces a provisioner of Kubernetes' own; undefined for any other provisioner. */
export function driverOf(provisioner: string): string | undefined {
  return Object.hasOwn(DRIVERS, provisioner) ? DRIVERS[provisioner] : undefined;
}

type Annotations = Readonly<Record<string, string>>;

/** The annotations with the one that names the driver, as the provisioner requires; the same object when nothing differs. */
export function migratedAnnotations(annotations: Annotations, provisioner: string | undefined): Annotations {
  if (provisioner === undefined) return annotations;
  const driver = driverOf(provisioner);
  const { [MIGRATED_TO]: current, ...rest } = annotations;
  if (driver === current) return annotations;
  return driver === undefined ? rest : { ...rest, [MIGRATED_TO]: driver };
}
