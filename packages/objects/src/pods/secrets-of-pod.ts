import type { Container, EphemeralContainer, Pod, Volume } from '../generated/types.ts';

/** Names of the Secrets that a pod uses: in containers, in volumes and for images. VisitPodSecretNames of Kubernetes' pkg/api/v1/pod. */
export function secretsOfPod({ spec }: Pod): ReadonlySet<string> {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec ?? {};
  const names = [
    ...(spec?.imagePullSecrets ?? []).map(({ name }) => name),
    ...[...initContainers, ...containers, ...ephemeralContainers].flatMap(secretsOfContainer),
    ...(spec?.volumes ?? []).flatMap(secretsOfVolume),
  ];
  return new Set(names.filter((name) => name !== undefined && name !== '') as string[]);
}

function secretsOfContainer({ env = [], envFrom = [] }: Container | EphemeralContainer): (string | undefined)[] {
  return [
    ...envFrom.map(({ secretRef }) => secretRef?.name),
    ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
  ];
}

function secretsOfVolume({ secret, projected, azureFile, csi, ...others }: Volume): (string | undefined)[] {
  const { cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos } = others;
  return [
    secret?.secretName,
    ...(projected?.sources ?? []).map((source) => source.secret?.name),
    azureFile?.secretName,
    csi?.nodePublishSecretRef?.name,
    ...[cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos].map((source) => source?.secretRef?.name),
  ];
}
