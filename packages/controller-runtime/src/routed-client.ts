import { type KubeObject, type ResourceRef, StatusError } from '@gantry/objects';
import {
  createObjectClient,
  type ObjectClient,
  type ObjectTransport,
  type ObjectWrite,
  type WriteResult,
} from '@gantry/client';
import type { FenceHolder } from './leader.ts';

export interface RoutedClientOptions {
  /** For resources that the API servers serve themselves; its writes carry the leader's fence. */
  readonly local: ObjectClient;
  /** For resources of aggregated API servers. */
  readonly remote: ObjectClient;
  readonly isRemote: (resource: ResourceRef) => boolean;
  /** Aggregated API servers cannot check fences, so nothing is written to them without a current term. */
  readonly fences: FenceHolder;
}

/** One client for all resources; it chooses the server by resource. */
export function createRoutedClient(options: RoutedClientOptions): ObjectClient {
  return createObjectClient(new RoutedTransport(options));
}

class RoutedTransport implements ObjectTransport {
  readonly #options: RoutedClientOptions;

  constructor(options: RoutedClientOptions) {
    this.#options = options;
  }

  readonly get: ObjectTransport['get'] = (resource, key, signal) => this.#reader(resource).get(resource, key, signal);
  readonly list: ObjectTransport['list'] = (resource, options, signal) =>
    this.#reader(resource).list(resource, options, signal);
  readonly watch: ObjectTransport['watch'] = (resource, options, signal) =>
    this.#reader(resource).watch(resource, options, signal);

  async write(write: ObjectWrite, signal: AbortSignal): Promise<KubeObject> {
    return await this.#writer(write.resource).write(write, signal);
  }

  async batch(writes: readonly ObjectWrite[], signal: AbortSignal): Promise<readonly WriteResult[]> {
    if (!writes.some(({ resource }) => this.#options.isRemote(resource)))
      return this.#options.local.batch(writes, signal);
    return Promise.all(
      writes.map(async (write): Promise<WriteResult> => {
        const [result] = await this.#writer(write.resource).batch([write], signal);
        return result ?? { ok: false, status: StatusError.internal('a write without a result').toStatus() };
      }),
    );
  }

  #reader(resource: ResourceRef): ObjectClient {
    return this.#options.isRemote(resource) ? this.#options.remote : this.#options.local;
  }

  #writer(resource: ResourceRef): ObjectClient {
    const { isRemote, fences, local, remote } = this.#options;
    if (!isRemote(resource)) return local;
    if (fences.fence() === undefined) throw StatusError.forbidden(resource, '', 'the writer does not lead');
    return remote;
  }
}
