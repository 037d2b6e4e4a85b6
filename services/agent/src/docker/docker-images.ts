import type Docker from 'dockerode';
import { AgentError } from '../runtime/agent-error.ts';
import type { ImageInfo, ImageRuntime } from '../runtime/images.ts';
import { describeDockerError, fromDocker } from './docker-error.ts';
import { readLines } from './lines.ts';

/** Images of the engine. */
export function dockerImages(docker: Docker): ImageRuntime {
  return {
    inspectImage: (reference) => inspect(docker, reference),
    pullImage: (reference, signal) => pull(docker, reference, signal),
  };
}

async function inspect(docker: Docker, reference: string): Promise<ImageInfo | undefined> {
  try {
    const image = await docker.getImage(reference).inspect();
    return {
      id: image.Id,
      sizeBytes: image.Size,
      digests: image.RepoDigests ?? [],
      user: image.Config.User ?? '',
      labels: Object.keys(image.Config.Labels ?? {}),
    };
  } catch (error) {
    if (describeDockerError(error).status === 404) return undefined;
    throw fromDocker(error, 'Runtime');
  }
}

/** The engine responds 200 before the pull; an error is a line of the progress stream. */
async function pull(docker: Docker, reference: string, signal: AbortSignal): Promise<void> {
  const tagged = /(:[^/]+|@sha256:[0-9a-f]+)$/.test(reference) ? reference : `${reference}:latest`;
  try {
    const stream: NodeJS.ReadableStream = await docker.pull(tagged, { abortSignal: signal });
    for await (const line of readLines(stream as AsyncIterable<Buffer>)) {
      const progress = JSON.parse(line) as { error?: string };
      if (progress.error !== undefined) throw new AgentError('ErrImagePull', progress.error);
    }
  } catch (error) {
    if (error instanceof AgentError) throw error;
    throw new AgentError('ErrImagePull', describeDockerError(error).message, { cause: error });
  }
}
