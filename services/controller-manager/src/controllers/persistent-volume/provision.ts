import {
  BETA_STORAGE_PROVISIONER,
  type PersistentVolumeClaim,
  STORAGE_PROVISIONER,
  type StorageClass,
} from '@gantry/objects';
import { type Action, eventAbout } from './action.ts';
import { driverOf, isInTree, migratedAnnotations } from './migration.ts';

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
