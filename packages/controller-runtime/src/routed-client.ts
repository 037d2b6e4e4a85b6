import { type KubeObject, type ResourceRef, StatusError } from '@gantry/api';
import type { ObjectClient, ObjectWrite, WriteResult } from '@gantry/client';
import type { FenceHolder } from './leadership.ts';

export interface RoutedClientOptions {
  /** For all that the API servers keep themselves; its writes carry the leader's fence. */
  readonly local: ObjectClient;
  /** For what other servers serve. */
  readonly remote: ObjectClient;
  readonly isRemote: (resource: ResourceRef) => boolean;
  /** Other servers cannot compare epochs: nothing is written there by one who knows that it does not lead. */
  readonly fences: FenceHolder;
}

/** One client for all that is served, wherever that is. */
export function createRoutedClient(options: RoutedClientOptions): ObjectClient {
  return new RoutedClient(options);
}

class RoutedClient implements ObjectClient {
  readonly #options: RoutedClientOptions;

  constructor(options: RoutedClientOptions) {
    this.#options = options;
  }

  get: ObjectClient['get'] = (resource, key, signal) => this.#reader(resource).get(resource, key, signal);
  list: ObjectClient['list'] = (resource, options, signal) => this.#reader(resource).list(resource, options, signal);
  watch: ObjectClient['watch'] = (resource, options, signal) => this.#reader(resource).watch(resource, options, signal);

  async write<T extends KubeObject>(write: ObjectWrite, signal: AbortSignal): Promise<T> {
    return await this.#writer(write.resource).write<T>(write, signal);
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
