import { CommandError } from '../../machine/command-error.ts';
import { repositoryOf } from '../engine.ts';
import type { FaultKind, Scene } from '../fault.ts';

/** Faults about images. */
export const IMAGE_FAULTS: readonly FaultKind[] = [
  {
    kind: 'image-deleted',
    what: "The name of the workloads' own image is deleted from the engine: new pods cannot start until it is there again.",
    targets: ['engine'],
    durationMs: [5_000, 15_000],
    weight: 1,
    strike: deleteImage,
  },
  {
    kind: 'upgrade',
    what: 'All services are replaced one after the other by those of another image, as `npm run up` does it after a change, and back.',
    targets: ['cluster'],
    durationMs: [5_000, 15_000],
    weight: 2,
    company: 'alone',
    strike: upgrade,
  },
];

/** The image of the workloads' pods: the image of the services under a name of this cluster's own. */
export const podImageOf = (clusterId: string) => `${repositoryOf(clusterId)}:pods`;
const otherImageOf = (clusterId: string) => `${repositoryOf(clusterId)}:other`;

async function deleteImage({ engine, undoLater }: Scene): Promise<string> {
  const name = podImageOf(engine.options.clusterId);
  const id = await engine.imageId(name);
  if (id === undefined) throw new CommandError(`the engine has no image ${name}`);
  await undoLater([{ undo: 'tag', image: id, name }]);
  await engine.docker(['rmi', '-f', '--no-prune', name]);
  return `${name} is gone`;
}

async function upgrade({ engine, undoLater, requireUnchanged, rollTo }: Scene): Promise<string> {
  const { clusterId, image } = engine.options;
  const name = otherImageOf(clusterId);
  // The way back ends at what the checkout describes.
  await requireUnchanged();
  await undoLater([{ undo: 'roll-back', image: name }]);
  await engine.deriveImage(image, name);
  await rollTo(name);
  return `all services run ${name}`;
}
