/** Images for the engine of a lab, which has no way to the packages that they are made of. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from './process.ts';

const BUILD_MS = 600_000;

/** The images of the services, built by this machine's engine. */
export async function serviceImages(root: string): Promise<readonly string[]> {
  const { code, stdout, stderr } = await runProgram(join(root, 'deploy/bin/ensure-service-image'), [], {
    timeoutMs: BUILD_MS,
  });
  if (code !== 0) throw new Error(`the image of the services was not built: ${stderr}`);
  return stdout.trim().split('\n');
}

/** The images that a cluster and the tests need: where no registry answers, only this machine's engine has them. */
export async function listedImages(root: string): Promise<readonly string[]> {
  const lines = (await readFile(join(root, 'deploy/images/list.txt'), 'utf8')).split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.split(' ')[0] ?? '');
}

/** Those of the official conformance program's images that this machine's engine has. */
export async function conformanceImages(root: string): Promise<readonly string[]> {
  const table = await readFile(join(root, 'deploy/conformance/images.json'), 'utf8');
  const names = (JSON.parse(table) as readonly { readonly name: string }[]).map(({ name }) => name);
  const present: string[] = [];
  for (const name of names) {
    if ((await runProgram('docker', ['image', 'inspect', name])).code === 0) present.push(name);
  }
  return present;
}
