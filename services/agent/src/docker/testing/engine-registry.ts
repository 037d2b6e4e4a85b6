import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { OwnEngine } from './own-engine.ts';

const run = promisify(execFile);
const PORT = 5000;
const TYPE = {
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar',
};

/** Serves the files of a folder at their paths. Manifests are served with their type. */
const SERVER = `
const { createReadStream, statSync } = require('node:fs');
require('node:http').createServer((request, response) => {
  const path = process.argv[1] + request.url.replace(/\\/$/, '/index').replaceAll('..', '');
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true) return response.writeHead(404).end();
  const type = path.includes('/manifests/') ? '${TYPE.manifest}' : 'application/octet-stream';
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': found.size });
  if (request.method === 'HEAD') response.end();
  else createReadStream(path).pipe(response);
}).listen(${PORT}, '127.0.0.1', () => console.log('ready'));
`;

/** A registry in an engine's network namespace. It ends with the engine. */
export interface EngineRegistry {
  /** Creates an image of this size whose content cannot be compressed. Returns its reference. */
  readonly publish: (name: string, sizeMiB: number) => Promise<string>;
}

export async function startRegistry(engine: OwnEngine): Promise<EngineRegistry> {
  const root = join(engine.home, 'registry');
  await mkdir(join(root, 'v2'), { recursive: true });
  await writeFile(join(root, 'v2/index'), '');
  const server = engine.spawn(process.execPath, ['-e', SERVER, root]);
  if (server.stdout !== null) await once(server.stdout, 'data');
  return {
    publish: async (name, sizeMiB) => {
      await publish(root, name, sizeMiB);
      return `127.0.0.1:${PORT}/${name}:v1`;
    },
  };
}

async function publish(root: string, name: string, sizeMiB: number): Promise<void> {
  const repository = join(root, 'v2', name);
  for (const part of ['blobs', 'manifests']) await mkdir(join(repository, part), { recursive: true });
  await writeFile(join(root, 'content'), randomBytes(sizeMiB * 2 ** 20));
  await run('tar', ['-C', root, '-cf', join(root, 'layer.tar'), 'content']);
  const add = async (mediaType: string, content: Buffer) => {
    const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
    await writeFile(join(repository, 'blobs', digest), content);
    return { mediaType, size: content.length, digest };
  };
  const layer = await add(TYPE.layer, await readFile(join(root, 'layer.tar')));
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const rootfs = { type: 'layers', diff_ids: [layer.digest] };
  const described = { architecture, os: 'linux', config: { Cmd: ['/content'] }, rootfs };
  const config = await add(TYPE.config, Buffer.from(JSON.stringify(described)));
  const manifest = JSON.stringify({ schemaVersion: 2, mediaType: TYPE.manifest, config, layers: [layer] });
  const { digest } = await add(TYPE.manifest, Buffer.from(manifest));
  for (const tag of ['v1', digest]) await writeFile(join(repository, 'manifests', tag), manifest);
}
