import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Builds an image from a Dockerfile without files beside it. Docker would leave its own folders in /tmp if it read standard input. Rejects
 * with what `docker build` has said.
 */
export async function buildImage(image: string, dockerfile: string, builder: 'BuildKit' | 'classic'): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-image-'));
  try {
    await writeFile(join(folder, 'Dockerfile'), dockerfile);
    const env = { ...process.env, DOCKER_BUILDKIT: builder === 'BuildKit' ? '1' : '0' };
    await promisify(execFile)('docker', ['build', '-q', '-t', image, folder], { env });
  } finally {
    await rm(folder, { recursive: true });
  }
}
