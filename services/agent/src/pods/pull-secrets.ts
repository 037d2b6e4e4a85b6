import type { Pod, Secret } from '@gantry/objects';
import { credentialsFor, type PullCredential } from '../images/keyring.ts';
import type { ConfigSource } from '../spec/config-source.ts';

/** Where the Secrets are, and kubelet's Event about those that are not there. */
export interface PullSecretsContext {
  readonly pod: Pod;
  readonly config: ConfigSource;
  readonly record: (type: 'Normal' | 'Warning', reason: string, message: string) => void;
}

/** The pod's credentials for an image, from its `imagePullSecrets`; those of its ServiceAccount are among them since admission. */
export async function podCredentials(
  image: string,
  { pod, config, record }: PullSecretsContext,
  signal: AbortSignal,
): Promise<readonly PullCredential[]> {
  const names = (pod.spec?.imagePullSecrets ?? []).map(({ name = '' }) => name).filter((name) => name !== '');
  if (names.length === 0) return [];
  const secrets: Secret[] = [];
  const missing: string[] = [];
  for (const name of names) {
    const secret = await config.secret(pod.metadata.namespace ?? '', name, signal);
    if (secret === undefined) missing.push(name);
    else secrets.push(secret);
  }
  if (missing.length > 0) {
    const list = missing.join(', ');
    const message = `Unable to retrieve some image pull secrets (${list}); attempting to pull the image may not succeed.`;
    record('Warning', 'FailedToRetrieveImagePullSecret', message);
  }
  return credentialsFor(image, secrets);
}
