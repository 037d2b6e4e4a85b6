import { AgentError } from '../runtime/agent-error.ts';
import type { ImageInfo } from '../runtime/images.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** The image of sandboxes, which is pulled when the engine does not have it. */
export async function sandboxImage(
  { runtime, sandboxImage: name }: { readonly runtime: Pick<Runtime, 'images'>; readonly sandboxImage: string },
  signal: AbortSignal,
): Promise<ImageInfo> {
  const present = await runtime.images.inspectImage(name, signal);
  if (present !== undefined) return present;
  await runtime.images.pullImage(name, 'anonymous', signal);
  const pulled = await runtime.images.inspectImage(name, signal);
  if (pulled === undefined) throw new AgentError('ErrImagePull', `image ${name} does not exist after its pull`);
  return pulled;
}
