/** A registry of images on this host, over HTTP, behind a login: as much of the distribution protocol as an engine's pull needs. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { runProgram } from './process.ts';

const MANIFEST_TYPE = 'application/vnd.docker.distribution.manifest.v2+json';
const CONFIG_TYPE = 'application/vnd.docker.container.image.v1+json';
const LAYER_TYPE = 'application/vnd.docker.image.rootfs.diff.tar';

/** What the registry has. */
export interface Registry extends AsyncDisposable {
  /** `127.0.0.1:PORT`: engines use HTTP for it. */
  readonly host: string;
  /** The reference of its one image. */
  readonly image: string;
  /** Paths that were asked for with the right login, in order. */
  readonly served: readonly string[];
  /** From now on no content is sent, so that no pull ends, until the function that it returns is called. */
  hold(): () => void;
  /** From now on the content of a layer takes so long. */
  slow(durationMs: number): void;
}

/**
 * Serves a copy of an image of the engine, of its own content, as `HOST/REPOSITORY:v1` to those who log in. An engine asks for no layer that
 * it has pulled before: `layerBytes` of random content are a layer of this image alone.
 */
export async function startRegistry(
  from: string,
  repository: string,
  login: string,
  layerBytes = 0,
): Promise<Registry> {
  const blobs = new Map<string, Buffer>();
  const manifest = await manifestOf(from, repository, layerBytes, blobs);
  const digest = digestOf(manifest);
  const served: string[] = [];
  let released = Promise.resolve();
  let durationMs = 0;
  const authorization = `Basic ${Buffer.from(login).toString('base64')}`;
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '';
    if (request.headers.authorization !== authorization) {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="gantry"', 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ errors: [{ code: 'UNAUTHORIZED', message: 'authentication required' }] }));
      return;
    }
    served.push(`${request.method} ${path}`);
    const blob = blobs.get(path.split('/').at(-1) ?? '');
    const isManifest = [`/v2/${repository}/manifests/v1`, `/v2/${repository}/manifests/${digest}`].includes(path);
    if (path === '/v2/') response.writeHead(200).end();
    else if (isManifest) send(request, response, MANIFEST_TYPE, manifest, digest);
    else if (path.startsWith(`/v2/${repository}/blobs/`) && blob !== undefined) {
      void released.then(() => send(request, response, 'application/octet-stream', blob, digestOf(blob), durationMs));
    } else response.writeHead(404).end();
  };
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const image = `${host}/${repository}:v1`;
  return {
    host,
    image,
    served,
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      released = promise;
      return resolve;
    },
    slow: (ms) => {
      durationMs = ms;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await runProgram('docker', ['rmi', '-f', image], {});
    },
  };
}

/** In how many parts slow content is sent. */
const PARTS = 50;

function send(
  request: IncomingMessage,
  response: ServerResponse,
  type: string,
  body: Buffer,
  digest: string,
  durationMs = 0,
): void {
  response.writeHead(200, {
    'Content-Type': type,
    'Content-Length': body.length,
    'Docker-Content-Digest': digest,
  });
  if (request.method === 'HEAD') response.end();
  else if (durationMs === 0) response.end(body);
  else Readable.from(slowly(body, durationMs)).pipe(response);
}

async function* slowly(body: Buffer, durationMs: number): AsyncIterable<Buffer> {
  const size = Math.ceil(body.length / PARTS);
  for (let start = 0; start < body.length; start += size) {
    yield body.subarray(start, start + size);
    await delay(durationMs / PARTS);
  }
}

/** Takes an image apart. A label makes it another image than the one that it is a copy of. */
async function manifestOf(
  from: string,
  repository: string,
  layerBytes: number,
  blobs: Map<string, Buffer>,
): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-registry-'));
  try {
    const script = 'docker save "$1" | tar -x -C "$2"';
    const { code, stderr } = await runProgram('sh', ['-c', script, 'save', from, folder], {});
    if (code !== 0) throw new Error(`docker save ${from}: ${stderr}`);
    const [saved] = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as [Saved];
    const config = JSON.parse(await readFile(join(folder, saved.Config), 'utf8')) as {
      config?: { Labels?: Record<string, string> | null };
      rootfs: { diff_ids: string[] };
      history?: object[];
    };
    config.config = { ...config.config, Labels: { ...config.config?.Labels, repository, process: `${process.pid}` } };
    const add = (mediaType: string, content: Buffer) => {
      blobs.set(digestOf(content), content);
      return { mediaType, size: content.length, digest: digestOf(content) };
    };
    const layers = [];
    for (const layer of saved.Layers) layers.push(add(LAYER_TYPE, await readFile(join(folder, layer))));
    if (layerBytes > 0) {
      const layer = await randomLayer(folder, layerBytes);
      layers.push(add(LAYER_TYPE, layer));
      config.rootfs.diff_ids.push(digestOf(layer));
      config.history?.push({ created_by: 'the registry of a test' });
    }
    const described = add(CONFIG_TYPE, Buffer.from(JSON.stringify(config)));
    return Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST_TYPE, config: described, layers }));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** An archive of one file. */
async function randomLayer(folder: string, bytes: number): Promise<Buffer> {
  await writeFile(join(folder, 'random'), randomBytes(bytes));
  const archive = join(folder, 'random.tar');
  const { code, stderr } = await runProgram('tar', ['-C', folder, '-cf', archive, 'random'], {});
  if (code !== 0) throw new Error(`tar: ${stderr}`);
  return await readFile(archive);
}

interface Saved {
  readonly Config: string;
  readonly Layers: readonly string[];
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
