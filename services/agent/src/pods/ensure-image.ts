import { type Clock, errorMessage } from '@gantry/base';
import type { Container, Pod, Secret } from '@gantry/objects';
import { imageReferenceFault, repositoryOf } from '../images/image-name.ts';
import type { ImagePuller } from '../images/image-puller.ts';
import type { PulledImages } from '../images/pulled-images.ts';
import { AgentError } from '../runtime/agent-error.ts';
import type { ImageInfo, ImageRuntime, PullProgress } from '../runtime/images.ts';
import { credentialsFor, type PullCredential } from '../images/keyring.ts';
import type { ConfigSource } from '../spec/config-source.ts';

const EVERY_MS = 10_000;
const STEP_PERCENT = 25;

/** Dependencies for pulling an image. */
export interface EnsureImageContext extends PullSecretsContext {
  readonly images: ImageRuntime;
  readonly puller: ImagePuller;
  readonly pulled: PulledImages;
  readonly clock: Clock;
}

/** The limit of image names in a message. */
const MAX_NAMES = 10;

/**
 * Returns a container's image. Pulls it if its pull policy requires that, or if it is present only because another pod could pull it.
 * Messages are the kubelet's (pkg/kubelet/images).
 */
export async function ensureImage(
  container: Container,
  context: EnsureImageContext,
  signal: AbortSignal,
): Promise<ImageInfo> {
  const { images, record } = context;
  const image = container.image ?? '';
  const fault = imageReferenceFault(image);
  if (fault !== undefined) {
    const message = `Failed to apply default image tag "${image}": couldn't parse image name "${image}": ${fault}`;
    record('Warning', 'InspectFailed', message);
    throw new AgentError('InvalidImageName', message);
  }
  const policy = pullPolicyOf(container);
  if (policy === 'Always') return await pull(image, context, signal);
  const present = await images.inspectImage(image, signal);
  if (present !== undefined && (await isUsable(present, image, context, signal))) return present;
  if (policy === 'Never') {
    const message = `Container image "${image}" is not present with pull policy of Never`;
    record('Warning', 'ErrImageNeverPull', message);
    // The message must not show the names of an image that the pod may not use.
    const others = present === undefined ? await namesOfRepository(image, context, signal) : '';
    throw new AgentError('ErrImageNeverPull', message + others);
  }
  return await pull(image, context, signal);
}

/** Like `ensureImage` if no registry is needed; otherwise undefined, without an Event. */
export async function imageAtHand(
  container: Container,
  context: EnsureImageContext,
  signal: AbortSignal,
): Promise<ImageInfo | undefined> {
  const image = container.image ?? '';
  if (imageReferenceFault(image) !== undefined || pullPolicyOf(container) === 'Always') return undefined;
  const present = await context.images.inspectImage(image, signal);
  return present !== undefined && (await isUsable(present, image, context, signal)) ? present : undefined;
}

/** Whether the pod may use an image that is present. Records the use. */
async function isUsable(
  { id }: ImageInfo,
  image: string,
  context: EnsureImageContext,
  signal: AbortSignal,
): Promise<boolean> {
  const { pulled, record, clock } = context;
  if (!(await pulled.mayUse(id, image, () => podCredentials(image, context, signal)))) return false;
  record('Normal', 'Pulled', `Container image "${image}" already present on machine and can be accessed by the pod`);
  await pulled.touch(id, clock.now());
  return true;
}

async function pull(image: string, context: EnsureImageContext, signal: AbortSignal): Promise<ImageInfo> {
  const { puller, record, clock } = context;
  const startMs = clock.monotonicMs();
  record('Normal', 'Pulling', `Pulling image "${image}"`);
  try {
    const credentials = await podCredentials(image, context, signal);
    const { image: found, tookMs } = await puller.pull(image, credentials, signal, pullEvents(image, record, clock));
    const [took, waited] = [formatSeconds(tookMs), formatSeconds(clock.monotonicMs() - startMs)];
    const size = `Image size: ${found.sizeBytes} bytes.`;
    record(
      'Normal',
      'Pulled',
      `Successfully pulled image "${image}" in ${took} (${waited} including waiting). ${size}`,
    );
    return found;
  } catch (error) {
    signal.throwIfAborted();
    const message = `failed to pull and unpack image "${image}": ${errorMessage(error)}`;
    record('Warning', 'Failed', `Failed to pull image "${image}": ${message}`);
    throw new AgentError('ErrImagePull', message, { cause: error });
  }
}

/** The images of the same repository that this machine has and the pod may use, as the end of a message. */
async function namesOfRepository(image: string, context: EnsureImageContext, signal: AbortSignal): Promise<string> {
  const { images, pulled } = context;
  const repository = repositoryOf(image);
  const found: string[] = [];
  for (const { id, names } of await images.listImages(signal)) {
    const tags = names.filter((name) => !name.includes('@') && repositoryOf(name) === repository);
    for (const name of tags) {
      if (await pulled.mayUse(id, name, () => podCredentials(name, context, signal))) found.push(name);
    }
  }
  if (found.length === 0) return '; this machine has no image of that repository';
  const shown = found.sort().slice(0, MAX_NAMES).join(', ');
  return `; this machine has ${shown}${found.length > MAX_NAMES ? `, and ${found.length - MAX_NAMES} more` : ''}`;
}

function formatSeconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)}ms` : `${(ms / 1000).toFixed(3).replace(/\.?0+$/, '')}s`;
}

/** Access to Secrets, and the recorder of the kubelet's Event about missing ones. */
export interface PullSecretsContext {
  readonly pod: Pod;
  readonly config: ConfigSource;
  readonly record: (type: 'Normal' | 'Warning', reason: string, message: string) => void;
}

/** The pod's credentials for an image, from its `imagePullSecrets`. Admission has added those of its ServiceAccount. */
async function podCredentials(
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

/**
 * Reports the progress of a pull as Events of the pod: at most one for each quarter, and only ten seconds after the previous one. So a
 * pull has at most three, and a short pull none. The kubelet has no such Events.
 */
export function pullEvents(
  image: string,
  record: PullSecretsContext['record'],
  clock: Pick<Clock, 'monotonicMs'>,
): (progress: PullProgress) => void {
  let reached = 0;
  let lastMs = clock.monotonicMs();
  return ({ bytes, totalBytes }) => {
    const percent = Math.floor((bytes * 100) / totalBytes / STEP_PERCENT) * STEP_PERCENT;
    if (percent <= reached || percent >= 100 || clock.monotonicMs() - lastMs < EVERY_MS) return;
    reached = percent;
    lastMs = clock.monotonicMs();
    record('Normal', 'Pulling', `Pulling image "${image}": ${percent}% of the ${totalBytes} bytes known so far`);
  };
}

/** The container's pull policy, or Kubernetes' default for the image's tag. */
function pullPolicyOf({ image = '', imagePullPolicy }: Container): string {
  return imagePullPolicy ?? (/:[^/]+$/.test(image) && !image.endsWith(':latest') ? 'IfNotPresent' : 'Always');
}
