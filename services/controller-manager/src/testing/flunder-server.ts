import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExtensionServer } from '@gantry/apiserver/testing';
import type { KubeObject } from '@gantry/objects';

const ROOT = '/apis/wardle.example.com/v1';
const VERBS = ['create', 'get', 'list', 'watch', 'patch', 'delete'];

/** An extension server with flunders of wardle.example.com/v1 in one namespace: enough of an API to be followed. */
export class FlunderServer {
  readonly #objects = new Map<string, KubeObject>();
  readonly #watches = new Set<ServerResponse>();
  /** Every event, as a line of a watch. */
  readonly #history: { readonly version: number; readonly line: string }[] = [];
  readonly #server: ExtensionServer;
  readonly #namespace: string;
  #version = 1;

  constructor(server: ExtensionServer, namespace: string) {
    this.#server = server;
    this.#namespace = namespace;
    const resources = [{ name: 'flunders', singularName: 'flunder', namespaced: true, kind: 'Flunder', verbs: VERBS }];
    server.routes.set(ROOT, (_, response) =>
      answer(response, { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'wardle.example.com/v1', resources }),
    );
    for (const path of [`${ROOT}/flunders`, `${ROOT}/namespaces/${namespace}/flunders`]) {
      server.routes.set(path, (request, response) => this.#collection(request, response));
    }
  }

  get names(): readonly string[] {
    return [...this.#objects.keys()];
  }

  put(name: string, metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
    const object: KubeObject = {
      apiVersion: 'wardle.example.com/v1',
      kind: 'Flunder',
      metadata: { name, namespace: this.#namespace, uid: randomUUID(), ...this.#next(), ...metadata },
    };
    this.#objects.set(name, object);
    this.#tell('ADDED', object);
    const path = `${ROOT}/namespaces/${this.#namespace}/flunders/${name}`;
    this.#server.routes.set(path, (request, response) => this.#one(name, request, response));
    return object;
  }

  delete(name: string): void {
    const object = this.#objects.get(name);
    if (object === undefined) return;
    this.#objects.delete(name);
    this.#tell('DELETED', { ...object, metadata: { ...object.metadata, ...this.#next() } });
  }

  /** Also serves another namespace, which is empty. */
  serveEmpty(namespace: string): void {
    const metadata = { resourceVersion: String(this.#version) };
    const list = { kind: 'FlunderList', apiVersion: 'wardle.example.com/v1', metadata, items: [] };
    this.#server.routes.set(`${ROOT}/namespaces/${namespace}/flunders`, (_, response) => answer(response, list));
  }

  /** Ends every watch. */
  close(): void {
    for (const watch of this.#watches) watch.destroy();
  }

  #next(): { resourceVersion: string } {
    this.#version += 1;
    return { resourceVersion: String(this.#version) };
  }

  #tell(type: string, object: KubeObject): void {
    const line = `${JSON.stringify({ type, object })}\n`;
    this.#history.push({ version: this.#version, line });
    for (const watch of this.#watches) watch.write(line);
  }

  #collection(request: IncomingMessage, response: ServerResponse): void {
    const { searchParams } = new URL(request.url ?? '', 'https://e');
    if (searchParams.get('watch') !== 'true') {
      const metadata = { resourceVersion: String(this.#version) };
      const items = [...this.#objects.values()];
      answer(response, { kind: 'FlunderList', apiVersion: 'wardle.example.com/v1', metadata, items });
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const after = Number(searchParams.get('resourceVersion'));
    for (const { version, line } of this.#history) if (version > after) response.write(line);
    this.#watches.add(response);
    response.on('close', () => this.#watches.delete(response));
  }

  #one(name: string, request: IncomingMessage, response: ServerResponse): void {
    const object = this.#objects.get(name);
    if (object === undefined) {
      const details = { name, group: 'wardle.example.com', kind: 'flunders' };
      const message = `flunders.wardle.example.com "${name}" not found`;
      const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 };
      answer(response, { ...status, message, details }, 404);
      return;
    }
    if (request.method === 'DELETE') this.delete(name);
    answer(response, object);
  }
}

function answer(response: ServerResponse, body: object, code = 200): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
