import { type Container, type Pod, type ResourceRef, type ServiceAccount, StatusError, type Volume } from '@gantry/api';
import { type Random, randomSuffix } from '@gantry/base';
import type { AdmissionCheck } from './admission-check.ts';

const SERVICE_ACCOUNTS: ResourceRef = { group: '', version: 'v1', resource: 'serviceaccounts' };
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Kubernetes' way to tell its own tokens from those that users ask for: an hour and seven seconds. */
const TOKEN_SECONDS = 3607;
const MIRROR = 'kubernetes.io/config.mirror';

/** Every pod runs as a service account that exists, with its token mounted unless somebody declined. */
export function serviceAccount(random: Random): AdmissionCheck {
  return {
    name: 'ServiceAccount',
    mutate: async ({ operation, definition, subresource, object, namespace, name }, reader) => {
      if (operation !== 'create' || definition.resource !== 'pods' || definition.group !== '' || subresource !== '')
        return;
      const pod = object as Pod;
      const { spec } = pod;
      if (spec === undefined || spec === null || pod.metadata.annotations?.[MIRROR] !== undefined) return;
      if ((spec.serviceAccountName ?? '') === '') spec.serviceAccountName = 'default';
      const accountName = spec.serviceAccountName ?? 'default';
      const account = await reader.find<ServiceAccount>(SERVICE_ACCOUNTS, namespace, accountName);
      if (account === undefined) throw missing(namespace, accountName, name);
      spec.serviceAccount = accountName;
      if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(pod, random);
      if ((spec.imagePullSecrets ?? []).length === 0 && (account.imagePullSecrets ?? []).length > 0) {
        spec.imagePullSecrets = (account.imagePullSecrets ?? []).map((secret) => ({ ...secret }));
      }
    },
  };
}

function missing(namespace: string, account: string, pod: string): StatusError {
  const why = `error looking up service account ${namespace}/${account}: serviceaccount "${account}" not found`;
  return StatusError.forbidden({ group: '', resource: 'pods' }, pod, why);
}

function mountToken(pod: Pod, random: Random): void {
  const { spec } = pod;
  if (spec === undefined) return;
  const containers: Container[] = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  const lacking = containers.filter(
    (container) => !(container.volumeMounts ?? []).some((mount) => mount.mountPath === MOUNT_PATH),
  );
  if (lacking.length === 0) return;
  const volume = (spec.volumes ?? []).find(isTokenVolume) ?? tokenVolume(random);
  for (const container of lacking) {
    const mount = { name: volume.name, readOnly: true, mountPath: MOUNT_PATH };
    container.volumeMounts = [...(container.volumeMounts ?? []), mount];
  }
  if (!(spec.volumes ?? []).includes(volume)) spec.volumes = [...(spec.volumes ?? []), volume];
}

function isTokenVolume(volume: Volume): boolean {
  return volume.name.startsWith('kube-api-access-') && volume.projected !== undefined;
}

function tokenVolume(random: Random): Volume {
  return {
    name: `kube-api-access-${randomSuffix(random)}`,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
      defaultMode: 420,
    },
  };
}
