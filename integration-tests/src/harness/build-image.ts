import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from './process.ts';

/** Builds an image from a Dockerfile without files beside it. Docker would leave its own folders in /tmp if it read standard input. */
export async function buildImage(image: string, dockerfile: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-image-'));
  try {
    await writeFile(join(folder, 'Dockerfile'), dockerfile);
    const { code, stderr } = await runProgram('docker', ['build', '-q', '-t', image, folder]);
    if (code !== 0) throw new Error(stderr);
  } finally {
    await rm(folder, { recursive: true });
  }
}
