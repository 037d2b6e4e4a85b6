import type { Container } from '@gantry/objects';
import type { ContainerProcess } from '../runtime/containers.ts';
import type { ImageInfo } from '../runtime/images.ts';
import { expand } from './expand.ts';

/** What the container runs: image, command, arguments, variables and terminal. */
export function processOf(
  container: Container,
  environment: ReadonlyMap<string, string>,
  image: ImageInfo,
): Omit<ContainerProcess, 'runtime'> {
  const { workingDir } = container;
  const command = container.command?.map((text) => expand(text, environment));
  const args = container.args?.map((text) => expand(text, environment));
  return {
    image: image.id,
    imageLabels: image.labels,
    ...(command === undefined || command.length === 0 ? {} : { command }),
    ...(args === undefined || args.length === 0 ? {} : { args }),
    ...(workingDir === undefined ? {} : { workingDir }),
    ...(container.lifecycle?.stopSignal === undefined ? {} : { stopSignal: container.lifecycle.stopSignal }),
    env: [...environment].map(([name, value]) => ({ name, value })),
    stdin: container.stdin === true ? (container.stdinOnce === true ? 'open-once' : 'open') : 'closed',
    terminal: container.tty === true ? 'tty' : 'none',
  };
}
