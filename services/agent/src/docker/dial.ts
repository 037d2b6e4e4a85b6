import type { Readable } from 'node:stream';
import type Docker from 'dockerode';

/** A request that the client library supports only without a signal, or only with the whole response in memory. */
interface Get {
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly abort: AbortSignal;
}

const STATUS_CODES = { 200: true, 400: 'bad parameter', 404: 'not found', 409: 'conflict', 500: 'server error' };

/** The JSON of a response; '' for an empty one. Rejects with the client library's errors. */
export function getJson(docker: Docker, get: Get): Promise<unknown> {
  return dial(docker, get, 'whole');
}

/** The body of a response as a stream. */
export async function getStream(docker: Docker, get: Get): Promise<Readable> {
  return (await dial(docker, get, 'stream')) as Readable;
}

/**
 * Creates a container. Left to itself, the client library repeats all options in the URL, and the engine refuses URLs of 1 MiB
 * (DefaultMaxHeaderBytes of Go's net/http); the variables of a container may be larger.
 */
export function createContainer(
  docker: Docker,
  { name, ...body }: Docker.ContainerCreateOptions,
  abortSignal: AbortSignal,
): Promise<Docker.Container> {
  const options = { _query: name === undefined ? {} : { name }, _body: body, abortSignal };
  return docker.createContainer(options);
}

function dial(docker: Docker, { path, query = {}, abort }: Get, body: 'whole' | 'stream'): Promise<unknown> {
  const request = {
    path: `${path}?`,
    method: 'GET',
    isStream: body === 'stream',
    abortSignal: abort,
    statusCodes: STATUS_CODES,
    options: { ...query },
  };
  return new Promise((resolve, reject) => {
    docker.modem.dial(request, (error: Error | null | undefined, response: unknown) => {
      if (error === null || error === undefined) resolve(response);
      else reject(error);
    });
  });
}
