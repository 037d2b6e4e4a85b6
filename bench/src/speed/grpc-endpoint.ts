import type { JsonObject, KubeObject } from '@gantry/objects';
import { createGrpcClient, type GrpcClient, type HttpTarget } from '@gantry/client';
import { type Collection, type Endpoint, type EndpointKind, type ListForm, PAGE } from './endpoint.ts';

const LONG_MS = 60_000;

/** gRPC with the services' client, which decodes objects. */
export function grpcKind(target: HttpTarget, port: number, addresses: readonly string[]): EndpointKind {
  return {
    name: 'gRPC',
    forms: ['whole', 'pages', 'metadata'],
    open: async (connections) =>
      new GrpcEndpoint(Array.from({ length: connections }, () => grpcClient(target, port, addresses))),
  };
}

/** The services' client, with the certificate of a kubeconfig's user. */
export function grpcClient(target: HttpTarget, port: number, addresses: readonly string[]): GrpcClient {
  const { ca, cert, key } = target;
  if (ca === undefined || cert === undefined || key === undefined) throw new Error('gRPC needs a client certificate');
  return createGrpcClient({
    addresses: [`apiserver:${port}`],
    tls: { current: () => ({ ca, cert, key }), subscribe: () => () => undefined },
    fieldManager: 'bench',
    lookup: () => Promise.resolve(addresses),
    deadlineMs: LONG_MS,
  });
}

class GrpcEndpoint implements Endpoint {
  readonly #clients: readonly GrpcClient[];
  #next = 0;

  constructor(clients: readonly GrpcClient[]) {
    this.#clients = clients;
  }

  async create({ resource, namespace }: Collection, object: KubeObject): Promise<void> {
    await this.#client().write({ verb: 'create', resource, namespace, object }, soon());
  }

  async get({ resource, namespace }: Collection, name: string): Promise<void> {
    await this.#client().get(resource, { namespace, name }, soon());
  }

  async update({ resource, namespace }: Collection, object: KubeObject): Promise<void> {
    const key = { namespace, name: object.metadata.name ?? '' };
    await this.#client().write({ verb: 'update', resource, key, object }, soon());
  }

  async patch({ resource, namespace }: Collection, name: string, merge: JsonObject): Promise<void> {
    await this.#client().patch(resource, { namespace, name }, { merge }, soon());
  }

  async delete({ resource, namespace }: Collection, name: string): Promise<void> {
    await this.#client().delete(resource, { namespace, name }, {}, soon());
  }

  async list({ resource, namespace }: Collection, form: ListForm): Promise<number> {
    const client = this.#client();
    const limit = form === 'pages' ? PAGE : 0;
    let continueToken = '';
    do {
      const options = { namespace, metadataOnly: form === 'metadata', limit, continueToken };
      ({ continueToken } = await client.list(resource, options, soon()));
    } while (continueToken !== '');
    return Number.NaN;
  }

  async watch(
    { resource, namespace }: Collection,
    resourceVersion: string,
    onEvents: (count: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      for await (const events of this.#client().watch(resource, { namespace, resourceVersion }, signal)) {
        onEvents(events.filter(({ type }) => type !== 'BOOKMARK').length);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  [Symbol.dispose](): void {
    for (const client of this.#clients) client[Symbol.dispose]();
  }

  #client(): GrpcClient {
    const client = this.#clients[this.#next++ % this.#clients.length];
    if (client === undefined) throw new Error('no connection');
    return client;
  }
}

function soon(): AbortSignal {
  return AbortSignal.timeout(LONG_MS);
}
