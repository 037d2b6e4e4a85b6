import { join } from 'node:path';
import type { Cluster } from './cluster.ts';
import { type Result, runProgram } from './process.ts';

/** Longer than a busy machine takes to build an image, or to replace all services. */
const LIMIT_MS = 900_000;

/** The name of the image of the release that deploy/previous-release names. */
export async function previousImage({ root }: Cluster): Promise<string> {
  const { code, stdout, stderr } = await runProgram(join(root, 'deploy/bin/ensure-previous-image'), [], {
    timeoutMs: LIMIT_MS,
  });
  if (code !== 0) throw new Error(`the image of the release before was not built: ${stderr}`);
  return stdout.trim();
}

/** `npm run up` with all services of an image, by default of that of this checkout. */
export function upWith({ root, home }: Cluster, image = ''): Promise<Result> {
  const env = { GANTRY_HOME: home, GANTRY_IMAGE: image };
  return runProgram(join(root, 'deploy/bin/up'), [], { env, timeoutMs: LIMIT_MS });
}

/** `upWith`, which must succeed. */
export async function mustUpWith(cluster: Cluster, image = ''): Promise<void> {
  const { code, stdout, stderr } = await upWith(cluster, image);
  if (code !== 0) throw new Error(`up ended with ${code}: ${stderr}${stdout}`);
}
