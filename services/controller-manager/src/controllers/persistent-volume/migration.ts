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
