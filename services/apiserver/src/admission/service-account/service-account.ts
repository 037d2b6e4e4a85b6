import {
  type Container,
  MIRROR_ANNOTATION,
  type Pod,
  secretsOfPod,
  SERVICE_ACCOUNTS,
  type ServiceAccount,
  type Volume,
} from '@gantry/objects';
import { type Clock, type Random, randomSuffix, sleep } from '@gantry/base';
import { type AdmissionCheck, type AdmissionReader, type AdmissionRequest, isCore } from '../check/admission-check.ts';
import { refuse, refuseBeforeNaming } from '../check/refuse.ts';
import { foreignSecret, foreignSecretOfEphemeral, isLimited } from './secret-limits.ts';

const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
/** One hour and seven seconds, as in Kubernetes. The odd value distinguishes these tokens from those that users request. */
const TOKEN_SECONDS = 3607;
const DEFAULT = 'default';
const TRIES = 10;
const RETRY_MS = 100;

/** Sets the service account of a pod, which must exist, and mounts its token unless that is disabled. */
export function serviceAccount(random: Random, clock: Clock): AdmissionCheck {
  return {
    name: 'ServiceAccount',
    mutate: async (request, reader) => {
      if (request.operation !== 'create' || !isCore(request, 'pods')) return;
      const pod: Pod = request.object;
      const { spec } = pod;
      if (spec === undefined || spec === null || isMirror(pod)) return;
      if ((spec.serviceAccountName ?? '') === '') spec.serviceAccountName = DEFAULT;
      await untilMade(spec.serviceAccountName ?? '', request, reader, { random, clock });
      const account = await accountOf(pod, request, reader);
      spec.serviceAccount = spec.serviceAccountName ?? '';
      if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(pod, random);
      if ((spec.imagePullSecrets ?? []).length === 0 && (account.imagePullSecrets ?? []).length > 0) {
        spec.imagePullSecrets = (account.imagePullSecrets ?? []).map((secret) => ({ ...secret }));
      }
    },
    validate: async (request, reader) => {
      const { operation } = request;
      const pod: Pod = request.object;
      if (operation === 'update' && isCore(request, 'pods', 'ephemeralcontainers')) {
        const account = await accountOf(pod, request, reader);
        const foreign = isLimited(account) ? foreignSecretOfEphemeral(pod, account) : undefined;
        if (foreign !== undefined) throw refuse(request, foreign);
      }
      if (operation !== 'create' || !isCore(request, 'pods')) return;
      if (isMirror(pod)) requireNoReferences(pod, request);
      else {
        const account = await accountOf(pod, request, reader);
        const foreign = isLimited(account) ? foreignSecret(pod, account) : undefined;
        if (foreign !== undefined) throw refuse(request, foreign);
      }
    },
  };
}

/** Waits for the default service account, which is created shortly after its namespace. */
async function untilMade(
  name: string,
  { namespace, signal }: AdmissionRequest,
  reader: AdmissionReader,
  { random, clock }: { readonly random: Random; readonly clock: Clock },
): Promise<void> {
  if (name !== DEFAULT || (await reader.find(SERVICE_ACCOUNTS, namespace, name)) !== undefined) return;
  const pauseMs = RETRY_MS * (1 + random());
  for (let tries = 1; tries < TRIES; tries++) {
    await sleep(clock, pauseMs, signal);
    if ((await reader.findFresh(SERVICE_ACCOUNTS, namespace, name)) !== undefined) return;
  }
}

function isMirror({ metadata }: Pod): boolean {
  return metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
}

/** Rejects references to cluster objects in a mirror pod, since it shows a static pod. */
function requireNoReferences(pod: Pod, request: AdmissionRequest): void {
  if ((pod.spec?.serviceAccountName ?? '') !== '') {
    throw refuse(request, 'a mirror pod may not reference service accounts');
  }
  if (secretsOfPod(pod).size > 0) throw refuse(request, 'a mirror pod may not reference secrets');
  const tokens = (pod.spec?.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  if (tokens.some(({ serviceAccountToken }) => serviceAccountToken !== undefined)) {
    throw refuse(request, 'a mirror pod may not use ServiceAccountToken volume projections');
  }
}

async function accountOf(
  { metadata, spec }: Pod,
  request: AdmissionRequest,
  reader: AdmissionReader,
): Promise<ServiceAccount> {
  const { namespace } = request;
  const name = spec?.serviceAccountName ?? '';
  if (name === '') {
    throw refuse(request, `no service account specified for pod ${namespace}/${metadata.name ?? ''}`);
  }
  const found = await reader.find<ServiceAccount>(SERVICE_ACCOUNTS, namespace, name);
  if (found !== undefined) return found;
  throw refuseBeforeNaming(
    request,
    `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`,
  );
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
