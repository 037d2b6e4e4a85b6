import type { KubeObject } from '@gantry/objects';
import { createGrpcClient, type GrpcClient, type HttpTarget } from '@gantry/client';
import type { Collection, Endpoint } from './endpoint.ts';

const CONNECTIONS = 8;
const LONG_MS = 60_000;

/** gRPC with the services' client, which decodes objects. */
export function openGrpcEndpoint(target: HttpTarget, port: number, addresses: readonly string[]): Endpoint {
  return new GrpcEndpoint(Array.from({ length: CONNECTIONS }, () => grpcClient(target, port, addresses)));
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
  readonly name = 'gRPC';
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

  async list({ resource, namespace }: Collection): Promise<number> {
    await this.#client().list(resource, { namespace }, soon());
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
