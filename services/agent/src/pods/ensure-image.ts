import { type Clock, errorMessage } from '@gantry/base';
import type { Container } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { ImageInfo, ImageRuntime } from '../runtime/images.ts';
import { isImageReference, pullPolicyOf } from '../spec/image-reference.ts';

/** What pulling an image needs. */
export interface EnsureImageContext {
  readonly images: ImageRuntime;
  /** Records kubelet's Events about the image. */
  readonly record: (type: 'Normal' | 'Warning', reason: string, message: string) => void;
  readonly clock: Clock;
}

/** A container's image, pulled when its policy asks for it. */
export async function ensureImage(
  container: Container,
  context: EnsureImageContext,
  signal: AbortSignal,
): Promise<ImageInfo> {
  const { images, record } = context;
  const image = container.image ?? '';
  if (!isImageReference(image)) {
    const message = `Failed to apply default image tag "${image}": couldn't parse image name "${image}": invalid reference format`;
    record('Warning', 'InspectFailed', message);
    throw new AgentError('InvalidImageName', message);
  }
  const policy = pullPolicyOf(container);
  const present = await images.inspectImage(image, signal);
  if (present !== undefined && policy !== 'Always') {
    record('Normal', 'Pulled', `Container image "${image}" already present on machine and can be accessed by the pod`);
    return present;
  }
  if (policy === 'Never') {
    const message = `Container image "${image}" is not present with pull policy of Never`;
    record('Warning', 'ErrImageNeverPull', message);
    throw new AgentError('ErrImageNeverPull', message);
  }
  return pull(image, context, signal);
}

async function pull(
  image: string,
  { images, record, clock }: EnsureImageContext,
  signal: AbortSignal,
): Promise<ImageInfo> {
  record('Normal', 'Pulling', `Pulling image "${image}"`);
  const startMs = clock.monotonicMs();
  try {
    await images.pullImage(image, signal);
    const pulled = await images.inspectImage(image, signal);
    if (pulled === undefined) throw new AgentError('ErrImagePull', 'the image does not exist after its pull');
    const took = formatSeconds(clock.monotonicMs() - startMs);
    const size = `Image size: ${pulled.sizeBytes} bytes.`;
    record('Normal', 'Pulled', `Successfully pulled image "${image}" in ${took} (${took} including waiting). ${size}`);
    return pulled;
  } catch (error) {
    signal.throwIfAborted();
    const message = `failed to pull and unpack image "${image}": ${errorMessage(error)}`;
    record('Warning', 'Failed', `Failed to pull image "${image}": ${message}`);
    throw new AgentError('ErrImagePull', message, { cause: error });
  }
}

function formatSeconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)}ms` : `${(ms / 1000).toFixed(3).replace(/\.?0+$/, '')}s`;
}
