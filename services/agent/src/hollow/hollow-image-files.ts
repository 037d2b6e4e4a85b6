import { AgentError } from '../runtime/agent-error.ts';
import type { ImageFileRuntime } from '../runtime/images.ts';

interface HollowImages {
  /** The texts of an image's files by path; undefined for an unknown image. */
  readonly filesOf: (imageId: string) => Readonly<Record<string, string>> | undefined;
  /** Simulates the time that the engine takes. */
  readonly wait: (signal: AbortSignal) => Promise<void>;
}

/** Reads image files that are defined as texts. */
export function hollowImageFiles({ filesOf, wait }: HollowImages): ImageFileRuntime {
  return {
    readImageFiles: async ({ image, paths, maxBytes }, signal) => {
      await wait(signal);
      const files = filesOf(image.id);
      if (files === undefined) throw new AgentError('ImageNotFound', `No such image: ${image.id}`);
      const found = new Map<string, Uint8Array>();
      for (const path of paths) {
        const text = files[path];
        if (text === undefined) continue;
        const content = Buffer.from(text);
        if (content.length > maxBytes) {
          const message = `cannot read ${path} of the image: it is larger than ${maxBytes} bytes`;
          throw new AgentError('CreateContainerError', message);
        }
        found.set(path, content);
      }
      return found;
    },
  };
}
