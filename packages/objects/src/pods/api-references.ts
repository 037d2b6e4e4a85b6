import type { Container, EphemeralContainer, Pod, Volume } from '../generated/types.ts';

type AnyContainer = Container | EphemeralContainer;

/** Volume types without references to API objects. */
const WITHOUT_REFERENCE: ReadonlySet<string> = new Set<keyof Volume>([
  'awsElasticBlockStore',
  'azureDisk',
  'cephfs',
  'cinder',
  'downwardAPI',
  'emptyDir',
  'fc',
  'flexVolume',
  'flocker',
  'gcePersistentDisk',
  'gitRepo',
  'hostPath',
  'image',
  'iscsi',
  'nfs',
  'photonPersistentDisk',
  'portworxVolume',
  'quobyte',
  'rbd',
  'scaleIO',
  'storageos',
  'vsphereVolume',
]);

/**
 * The kind of API objects that a pod refers to, with Kubernetes' name and order (HasAPIObjectReference in pkg/api/pod); undefined if there
 * are none. A static pod must not have any: its node would get the right to read them.
 */
export function apiReferenceOf({ spec }: Pod): string | undefined {
  const { volumes = [], resourceClaims = [], imagePullSecrets = [] } = spec ?? {};
  const containers: readonly AnyContainer[] = [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  if ((spec?.serviceAccountName ?? '') !== '') return 'serviceaccounts';
  if (imagePullSecrets.length > 0 || containers.some(usesSecret) || volumes.some(hasSecret)) return 'secrets';
  if (containers.some(usesConfigMap) || volumes.some(hasConfigMap)) return 'configmaps';
  if (resourceClaims.length > 0) return 'resourceclaims';
  for (const volume of volumes) {
    const reference = referenceOfVolume(volume);
    if (reference !== undefined) return reference;
  }
  return undefined;
}

function usesSecret({ env = [], envFrom = [] }: AnyContainer): boolean {
  return (
    env.some(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined) ||
    envFrom.some(({ secretRef }) => secretRef !== undefined)
  );
}

function usesConfigMap({ env = [], envFrom = [] }: AnyContainer): boolean {
  return (
    env.some(({ valueFrom }) => valueFrom?.configMapKeyRef !== undefined) ||
    envFrom.some(({ configMapRef }) => configMapRef !== undefined)
  );
}

function hasSecret({ secret, azureFile, csi, projected, ...others }: Volume): boolean {
  if (secret !== undefined || azureFile !== undefined || csi?.nodePublishSecretRef !== undefined) return true;
  if ((projected?.sources ?? []).some((source) => source.secret !== undefined)) return true;
  const { cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos } = others;
  return [cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos].some((source) => source?.secretRef !== undefined);
}

function hasConfigMap({ configMap, projected }: Volume): boolean {
  return configMap !== undefined || (projected?.sources ?? []).some((source) => source.configMap !== undefined);
}

function referenceOfVolume(volume: Volume): string | undefined {
  if (volume.csi !== undefined) return 'csidrivers (via CSI volumes)';
  if (volume.glusterfs !== undefined) return 'endpoints (via glusterFS volumes)';
  if (volume.persistentVolumeClaim !== undefined) return 'persistentvolumeclaims';
  if (volume.ephemeral !== undefined) return 'persistentvolumeclaims (via ephemeral volumes)';
  for (const source of volume.projected?.sources ?? []) {
    if (source.serviceAccountToken !== undefined) return 'serviceaccounts (via projected volumes)';
    if (source.clusterTrustBundle !== undefined) return 'clustertrustbundles';
    if (source.podCertificate !== undefined) return 'podcertificates';
  }
  if (volume.projected !== undefined) return undefined;
  const [field] = Object.keys(volume).filter((key) => key !== 'name');
  return field === undefined || WITHOUT_REFERENCE.has(field) ? undefined : `objects of unknown kinds (via ${field})`;
}
