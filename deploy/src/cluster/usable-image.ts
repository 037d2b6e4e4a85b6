import { errorMessage } from '@gantry/base';
import { mustRun, type Shell } from '../machine/shell.ts';

/** The names that `ensureServiceImages` gives the image of the services, without tags. */
const REPOSITORIES = ['gantry', 'gantry-pki'];
const withoutTag = (name: string) => name.replace(/:[^:/]*$/, '');

/**
 * An image of the services to remove a cluster with: the wanted one; that of one of the cluster's containers, whose name may be gone; or one
 * of another checkout. Undefined if the engine has none. Throws CommandError if the engine does not answer.
 */
export async function usableImage(shell: Shell, clusterId: string, wanted: string): Promise<string | undefined> {
  if (await isThere(shell, wanted)) return wanted;
  const repositories = [withoutTag(wanted), ...REPOSITORIES];
  for (const image of [...(await imagesOfContainers(shell, clusterId, repositories)), ...(await named(shell))])
    if (await isThere(shell, image)) return image;
  return undefined;
}

async function isThere(shell: Shell, image: string): Promise<boolean> {
  try {
    await mustRun(shell, 'docker', ['image', 'inspect', image]);
    return true;
  } catch (error) {
    if (!/no such image/i.test(errorMessage(error))) throw error;
    return false;
  }
}

async function imagesOfContainers(
  shell: Shell,
  clusterId: string,
  repositories: readonly string[],
): Promise<readonly string[]> {
  const project = `label=com.docker.compose.project=${clusterId}`;
  const ids = linesOf(await mustRun(shell, 'docker', ['ps', '-aq', '--filter', project]));
  if (ids.length === 0) return [];
  // It fails for those that were removed since, and prints the others all the same.
  const { stdout } = await shell.run('docker', ['inspect', '-f', '{{.Image}} {{.Config.Image}}', ...ids]);
  const found = linesOf(stdout).map((line) => line.split(' '));
  return [...new Set(found.flatMap(([id = '', name = '']) => (repositories.includes(withoutTag(name)) ? [id] : [])))];
}

/** Newest first. */
async function named(shell: Shell): Promise<readonly string[]> {
  const filters = REPOSITORIES.flatMap((name) => ['--filter', `reference=${name}`]);
  return linesOf(await mustRun(shell, 'docker', ['image', 'ls', '-q', ...filters]));
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
