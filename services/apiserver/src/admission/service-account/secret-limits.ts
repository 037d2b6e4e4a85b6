import {
  type Container,
  type EphemeralContainer,
  MOUNTABLE_SECRETS_ANNOTATION,
  type Pod,
  type ServiceAccount,
} from '@gantry/objects';

const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True'];

/** Whether pods of the service account may use only the Secrets that it lists. */
export function isLimited({ metadata }: ServiceAccount): boolean {
  return TRUE.includes(metadata.annotations?.[MOUNTABLE_SECRETS_ANNOTATION] ?? '');
}

/** The message for a new pod that uses a Secret outside the list of its service account; undefined if it uses none. */
export function foreignSecret(pod: Pod, account: ServiceAccount): string | undefined {
  const name = account.metadata.name ?? '';
  const own = namesOf(account.secrets);
  const suffix = `is not allowed because service account ${name} does not reference that`;
  for (const { secret } of pod.spec?.volumes ?? []) {
    if (secret === undefined || own.has(secret.secretName ?? '')) continue;
    return `volume with secret.secretName="${secret.secretName ?? ''}" ${suffix} secret`;
  }
  const inContainers =
    foreignIn(pod.spec?.initContainers, 'init container', own, suffix) ??
    foreignIn(pod.spec?.containers, 'container', own, suffix);
  if (inContainers !== undefined) return inContainers;
  const pulls = namesOf(account.imagePullSecrets);
  const at = (pod.spec?.imagePullSecrets ?? []).findIndex((reference) => !pulls.has(reference.name ?? ''));
  if (at < 0) return undefined;
  return `imagePullSecrets[${at}].name="${pod.spec?.imagePullSecrets?.[at]?.name ?? ''}" ${suffix} imagePullSecret`;
}

/** The same for ephemeral containers. */
export function foreignSecretOfEphemeral(pod: Pod, account: ServiceAccount): string | undefined {
  const suffix = `is not allowed because service account ${account.metadata.name ?? ''} does not reference that`;
  return foreignIn(pod.spec?.ephemeralContainers, 'ephemeral container', namesOf(account.secrets), suffix);
}

function foreignIn(
  containers: readonly (Container | EphemeralContainer)[] | undefined,
  kind: string,
  own: ReadonlySet<string>,
  suffix: string,
): string | undefined {
  for (const { name, env = [], envFrom = [] } of containers ?? []) {
    for (const variable of env) {
      const key = variable.valueFrom?.secretKeyRef;
      if (key === undefined || own.has(key.name ?? '')) continue;
      const what = `${kind} ${name} with envVar ${variable.name}`;
      return `${what} referencing secret.secretName="${key.name ?? ''}" ${suffix} secret`;
    }
    for (const { secretRef } of envFrom) {
      if (secretRef === undefined || own.has(secretRef.name ?? '')) continue;
      return `${kind} ${name} with envFrom referencing secret.secretName="${secretRef.name ?? ''}" ${suffix} secret`;
    }
  }
  return undefined;
}

function namesOf(references: readonly { readonly name?: string }[] | undefined): ReadonlySet<string> {
  return new Set((references ?? []).map(({ name = '' }) => name));
}
