import { join } from 'node:path';
import type { CommandConfig } from '../config.ts';
import { mustRun, type Shell } from '../machine/shell.ts';

/**
 * The image of all services, built when its inputs have changed; resolves with its name. On Linux the bundle is made on
 * the host; elsewhere, where npm installs no Linux Node.js, inside the build.
 */
export async function ensureServiceImage(
  config: CommandConfig,
  shell: Shell,
  note: (text: string) => void,
): Promise<string> {
  if (process.platform !== 'linux') return await buildInside(config, shell, note);
  const bundle = join(config.root, '.gantry/bundle');
  note('bundling');
  const hash = (await mustRun(shell, process.execPath, [join(config.root, 'deploy/tools/bundle.ts'), bundle])).trim();
  const image = `gantry:${hash}`;
  if ((await shell.run('docker', ['image', 'inspect', image])).code === 0) {
    note(`${image} is there`);
    return image;
  }
  note(`building ${image}`);
  const file = join(config.root, 'deploy/images/gantry.Dockerfile');
  await mustRun(shell, 'docker', ['build', '-q', '--build-arg', 'BUNDLE=host', '-f', file, '-t', image, bundle], {
    env: { DOCKER_BUILDKIT: '1' },
  });
  note(`${image} built`);
  return image;
}

async function buildInside(config: CommandConfig, shell: Shell, note: (text: string) => void): Promise<string> {
  const image = 'gantry:dev';
  note(`building ${image}`);
  const file = join(config.root, 'deploy/images/gantry.Dockerfile');
  await mustRun(shell, 'docker', ['build', '-q', '-f', file, '-t', image, config.root], {
    env: { DOCKER_BUILDKIT: '1' },
  });
  return image;
}
