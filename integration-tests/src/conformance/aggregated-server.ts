import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { KEEP_ALIVE_MS, requestBody } from './webhook-server.ts';
import { issueServerIdentity } from './test-pki.ts';

interface Flunder {
  readonly metadata: { readonly name: string };
}

/** An API server of the test's, outside the cluster, with one namespaced resource that it keeps in memory: flunders. */
export interface AggregatedServer extends AsyncDisposable {
  readonly caBundle: string;
  readonly port: number;
  /** Users in whose name it was asked for flunders, as the aggregator says. */
  readonly users: ReadonlySet<string>;
}

interface Reply {
  readonly code: number;
  readonly document: object;
}

/** Serves one version of one group, under the name that the cluster calls it by. */
export async function startAggregatedServer(groupVersion: string, hostName: string): Promise<AggregatedServer> {
  const { ca, cert, key } = await issueServerIdentity([hostName]);
  const store = new FlunderStore(groupVersion);
  const users = new Set<string>();
  const server = createServer({ cert, key, keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'https://server');
    void requestBody(request)
      .then((body) => {
        const { code, document } = store.answer(request.method ?? 'GET', pathname, body);
        if (pathname.includes('/flunders')) users.add(String(request.headers['x-remote-user']));
        response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(document));
      })
      .catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((done) => server.listen(0, done));
  return {
    caBundle: Buffer.from(ca).toString('base64'),
    port: (server.address() as AddressInfo).port,
    users,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeAllConnections();
      await closed;
    },
  };
}

class FlunderStore {
  readonly #groupVersion: string;
  readonly #objects = new Map<string, Flunder>();
  #version = 1;

  constructor(groupVersion: string) {
    this.#groupVersion = groupVersion;
  }

  answer(method: string, path: string, body: string): Reply {
    const root = `/apis/${this.#groupVersion}`;
    if (path === root) return { code: 200, document: this.#discovery() };
    const [, namespace = '', name] = /\/namespaces\/([^/]+)\/flunders(?:\/([^/]+))?$/.exec(path) ?? [];
    if (!path.startsWith(root) || namespace === '') return refusal(404, 'NotFound');
    if (name === undefined) return method === 'POST' ? this.#create(namespace, body) : this.#list(namespace);
    const found = this.#objects.get(`${namespace}/${name}`);
    if (found === undefined) return refusal(404, 'NotFound');
    if (method === 'DELETE') this.#objects.delete(`${namespace}/${name}`);
    return { code: 200, document: found };
  }

  #create(namespace: string, body: string): Reply {
    const { metadata, ...rest } = JSON.parse(body) as Flunder;
    const resourceVersion = String(++this.#version);
    const made = { ...rest, metadata: { ...metadata, namespace, resourceVersion, uid: `uid-${resourceVersion}` } };
    this.#objects.set(`${namespace}/${metadata.name}`, made);
    return { code: 201, document: made };
  }

  #list(namespace: string): Reply {
    const items = [...this.#objects].filter(([id]) => id.startsWith(`${namespace}/`)).map(([, one]) => one);
    const metadata = { resourceVersion: String(this.#version) };
    return { code: 200, document: { kind: 'FlunderList', apiVersion: this.#groupVersion, metadata, items } };
  }

  #discovery(): object {
    const verbs = ['create', 'delete', 'get', 'list'];
    const resources = [{ name: 'flunders', singularName: 'flunder', namespaced: true, kind: 'Flunder', verbs }];
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: this.#groupVersion, resources };
  }
}

function refusal(code: number, reason: string): Reply {
  return { code, document: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason, code } };
}
