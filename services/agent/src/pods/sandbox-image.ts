import type { ImagePuller } from '../images/image-puller.ts';
import type { ImageInfo } from '../runtime/images.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** What finding the image of sandboxes needs. */
export interface SandboxImageServices {
  readonly runtime: Pick<Runtime, 'images'>;
  readonly puller: Pick<ImagePuller, 'pull'>;
  readonly sandboxImage: string;
}

/** The image of sandboxes, which is pulled when the engine does not have it: once for all pods that need it at the same time. */
export async function sandboxImage(
  { runtime, puller, sandboxImage: name }: SandboxImageServices,
  signal: AbortSignal,
): Promise<ImageInfo> {
  const present = await runtime.images.inspectImage(name, signal);
  return present ?? (await puller.pull(name, [], signal)).image;
}
