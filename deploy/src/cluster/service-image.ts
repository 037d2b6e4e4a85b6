import { join } from 'node:path';
import type { CommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import type { ServiceContainer } from './compose.ts';

/** Names of the images built from this checkout. */
export interface ServiceImages {
  /** For all services. */
  readonly services: string;
  /** The same image under a name that changes only with the code of the certificate job. */
  readonly pki: string;
}

/**
 * Builds the image of all services when its inputs have changed. Bundles on the host on Linux; elsewhere in the build, since
 * npm installs no Linux Node.js there.
 */
export async function ensureServiceImages(
  config: CommandConfig,
  shell: Shell,
  note: (text: string) => void,
): Promise<ServiceImages> {
  if (process.platform !== 'linux') return await buildInside(config, shell, note);
  const bundle = join(config.root, '.gantry/bundle');
  note('bundling');
  const printed = await mustRun(shell, process.execPath, [join(config.root, 'deploy/tools/bundle.ts'), bundle]);
  const hashes = JSON.parse(printed) as { readonly services: string; readonly pki: string };
  const images = { services: `gantry:${hashes.services}`, pki: `gantry-pki:${hashes.pki}` };
  const isPresent = async (image: string) => (await shell.run('docker', ['image', 'inspect', image])).code === 0;
  if (await isPresent(images.services)) {
    note(`${images.services} is there`);
  } else {
    note(`building ${images.services}`);
    const file = join(config.root, 'deploy/images/gantry.Dockerfile');
    const build = ['build', '-q', '--build-arg', 'BUNDLE=host', '-f', file, '-t', images.services, bundle];
    await mustRun(shell, 'docker', build, { env: { DOCKER_BUILDKIT: '1' } });
    note(`${images.services} built`);
  }
  if (!(await isPresent(images.pki))) await mustRun(shell, 'docker', ['tag', images.services, images.pki]);
  return images;
}

async function buildInside(config: CommandConfig, shell: Shell, note: (text: string) => void): Promise<ServiceImages> {
  const image = 'gantry:dev';
  note(`building ${image}`);
  const file = join(config.root, 'deploy/images/gantry.Dockerfile');
  const build = ['build', '-q', '-f', file, '-t', image, config.root];
  await mustRun(shell, 'docker', build, { env: { DOCKER_BUILDKIT: '1' } });
  return { services: image, pki: image };
}

/** The image that GANTRY_IMAGE names, for all services; if it names none, that of this checkout. CommandError if the engine lacks it. */
export async function findServiceImages(
  config: CommandConfig,
  shell: Shell,
  note: (text: string) => void,
  image = '',
): Promise<ServiceImages> {
  if (image === '') return await ensureServiceImages(config, shell, note);
  note(image);
  const { code, stderr } = await shell.run('docker', ['image', 'inspect', image]);
  if (code !== 0) throw new CommandError(`GANTRY_IMAGE: ${stderr.trim()}`, `get it before: docker pull ${image}`);
  return { services: image, pki: image };
}

/** Removes our own images that the cluster ran before and no longer runs. An image that another checkout uses stays. */
export async function removeReplacedImages(
  shell: Shell,
  before: readonly ServiceContainer[],
  after: readonly ServiceContainer[],
): Promise<void> {
  for (const image of replacedImages(before, after)) await shell.run('docker', ['image', 'rm', image]);
}

/** Names of our own images that are only in the first list. */
export function replacedImages(
  before: readonly Pick<ServiceContainer, 'image'>[],
  after: readonly Pick<ServiceContainer, 'image'>[],
): readonly string[] {
  const used = new Set(after.map(({ image }) => image));
  return [...new Set(before.map(({ image }) => image))].filter(
    (image) => /^gantry(-pki)?:/.test(image) && !used.has(image),
  );
}
