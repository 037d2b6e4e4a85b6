import { request } from 'node:http';

const SOCKET = '/var/run/docker.sock';

/** The engine, without a client program in between. */
export interface Engine {
  /** Creates and starts a container; returns its id. */
  run(config: object): Promise<string>;
  /** Returns when its process has ended. */
  stop(id: string, graceSeconds: number): Promise<void>;
  remove(id: string): Promise<void>;
}

/** The engine of this machine, through its socket. */
export function localEngine(): Engine {
  return {
    run: async (config) => {
      const { Id: id } = (await call('POST', '/containers/create', config)) as { Id: string };
      await call('POST', `/containers/${id}/start`);
      return id;
    },
    stop: async (id, graceSeconds) => {
      await call('POST', `/containers/${id}/stop?t=${graceSeconds}`);
    },
    remove: async (id) => {
      await call('DELETE', `/containers/${id}?force=true&v=true`);
    },
  };
}

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const sent = request({ socketPath: SOCKET, method, path, headers }, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('error', reject);
    response.on('end', () => {
      if ((response.statusCode ?? 500) >= 300) reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
      else resolve(text === '' ? undefined : JSON.parse(text));
    });
  });
  sent.on('error', reject);
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}
