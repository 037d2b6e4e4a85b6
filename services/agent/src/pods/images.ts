import { type Clock, errorMessage } from '@gantry/base';
import type { Container, Pod } from '@gantry/api';
import { AgentError } from '../agent-error.ts';
import type { ImageInfo, ImageRuntime } from '../runtime/runtime.ts';

/** Tells what happened to an image, as kubelet's Events do. */
export type ImageReport = (type: 'Normal' | 'Warning', reason: string, message: string) => void;

const REFERENCE =
  /^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d+)?)\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[\w][\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-f]{32,})?$/;

/** Whether `image` can be an image's name at all. */
export function isImageReference(image: string): boolean {
  return REFERENCE.test(image);
}

/** What is present of a container's image after its pull policy has been obeyed. */
export async function ensureImage(
  pod: Pod,
  container: Container,
  images: ImageRuntime,
  report: ImageReport,
  clock: Clock,
  signal: AbortSignal,
): Promise<ImageInfo> {
  const image = container.image ?? '';
  if (!isImageReference(image)) {
    const message = `Failed to apply default image tag "${image}": couldn't parse image name "${image}": invalid reference format`;
    report('Warning', 'InspectFailed', message);
    throw new AgentError('InvalidImageName', message);
  }
  const policy =
    container.imagePullPolicy ?? (/:[^/]+$/.test(image) && !image.endsWith(':latest') ? 'IfNotPresent' : 'Always');
  const present = await images.inspectImage(image, signal);
  if (present !== undefined && policy !== 'Always') {
    report('Normal', 'Pulled', `Container image "${image}" already present on machine and can be accessed by the pod`);
    return present;
  }
  if (policy === 'Never') {
    const message = `Container image "${image}" is not present with pull policy of Never`;
    report('Warning', 'ErrImageNeverPull', message);
    throw new AgentError('ErrImageNeverPull', message);
  }
  return pull(image, images, report, clock, signal);
}

async function pull(
  image: string,
  images: ImageRuntime,
  report: ImageReport,
  clock: Clock,
  signal: AbortSignal,
): Promise<ImageInfo> {
  report('Normal', 'Pulling', `Pulling image "${image}"`);
  const startMs = clock.monotonicMs();
  try {
    await images.pullImage(image, signal);
    const pulled = await images.inspectImage(image, signal);
    if (pulled === undefined) throw new AgentError('ErrImagePull', 'the image is not there after its pull');
    const took = formatSeconds(clock.monotonicMs() - startMs);
    const size = `Image size: ${pulled.sizeBytes} bytes.`;
    report('Normal', 'Pulled', `Successfully pulled image "${image}" in ${took} (${took} including waiting). ${size}`);
    return pulled;
  } catch (error) {
    signal.throwIfAborted();
    const message = `failed to pull and unpack image "${image}": ${errorMessage(error)}`;
    report('Warning', 'Failed', `Failed to pull image "${image}": ${message}`);
    throw new AgentError('ErrImagePull', message, { cause: error });
  }
}

function formatSeconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)}ms` : `${(ms / 1000).toFixed(3).replace(/\.?0+$/, '')}s`;
}
