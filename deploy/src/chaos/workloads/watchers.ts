import { pause } from '@gantry/base';
import { CONFIG_MAPS, isReason, type KubeObject, PODS, type Resource, StatusError } from '@gantry/objects';
import type { HttpClient } from '@gantry/client';
import { resourceName } from './recorded-client.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const WATCHED: readonly Resource[] = [CONFIG_MAPS, PODS];
const COPIES = 2;
const REOPEN_MS = 200;
const LIST_MS = 30_000;

/** Clients that follow all changes, and go on where they were when a watch ends. */
export const WATCHER_WORKLOAD: Workload = {
  name: 'watchers',
  restores: 'known',
  what: 'Watches of the namespace are opened again at their last version whenever they end; each change must be seen once and in order.',
  start: startWatchers,
};

async function startWatchers(context: WorkloadContext): Promise<RunningWorkload> {
  // A watch goes on while the other workloads finish: what it has seen in the end is compared with a list.
  const end = new AbortController();
  const watchers = WATCHED.flatMap((resource) =>
    Array.from(
      { length: COPIES },
      (_, copy) => new Watcher(context, resource, `watchers-${resource.resource}-${copy}`),
    ),
  );
  const following = watchers.map((watcher) => watcher.follow(AbortSignal.any([end.signal, context.over])));
  return await Promise.resolve({
    finish: async () => {
      const wrong = await context.untilRight(async (signal) =>
        (await Promise.all(watchers.map((watcher) => watcher.differences(signal)))).flat(),
      );
      end.abort();
      await Promise.all(following);
      return [...wrong, ...watchers.flatMap(({ violations }) => violations)];
    },
  });
}

/** One watch of a resource, with the state that its events make. */
class Watcher {
  readonly violations: string[] = [];
  readonly #context: WorkloadContext;
  readonly #resource: Resource;
  readonly #name: string;
  readonly #versions = new Map<string, string>();
  #api: HttpClient;
  #reached = '';
  #opened = 0;

  constructor(context: WorkloadContext, resource: Resource, name: string) {
    this.#context = context;
    this.#resource = resource;
    this.#name = name;
    this.#api = context.connect();
  }

  async follow(end: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    while (!end.aborted) {
      try {
        if (this.#reached === '') await this.#list(end);
        await this.#watch(end);
      } catch (error) {
        if (end.aborted) break;
        if (isReason(error, 'Expired')) this.#reached = '';
      }
      await pause(clock, REOPEN_MS, end);
    }
  }

  /** How what was seen differs from what is there. */
  async differences(signal: AbortSignal): Promise<readonly string[]> {
    const { namespace } = this.#context;
    const { items } = await this.#api.list(this.#resource, { namespace }, signal);
    const there = items.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
    const seen = [...this.#versions].map(([name, version]) => `${name}@${version}`);
    const missing = there.filter((one) => !seen.includes(one));
    const extra = seen.filter((one) => !there.includes(one));
    if (missing.length + extra.length === 0) return [];
    return [`${this.#name} has not seen ${missing.slice(0, 3).join()}, and still sees ${extra.slice(0, 3).join()}`];
  }

  async #list(end: AbortSignal): Promise<void> {
    const { namespace } = this.#context;
    const signal = AbortSignal.any([end, AbortSignal.timeout(LIST_MS)]);
    const { items, resourceVersion } = await this.#api.list(this.#resource, { namespace }, signal);
    this.#versions.clear();
    for (const { metadata } of items) this.#versions.set(metadata.name ?? '', metadata.resourceVersion ?? '');
    this.#reached = resourceVersion;
  }

  async #watch(end: AbortSignal): Promise<void> {
    const { folder, namespace } = this.#context;
    const watch = `${this.#name}.${++this.#opened}`;
    const opened = { resource: resourceName(this.#resource), namespace, resourceVersion: this.#reached };
    folder.client(this.#name, { watch, type: 'OPEN', ...opened });
    try {
      const options = { namespace, resourceVersion: this.#reached };
      for await (const batch of this.#api.watch(this.#resource, options, end)) {
        for (const event of batch) {
          if (event.type === 'BOOKMARK') {
            folder.client(this.#name, { watch, type: 'BOOKMARK', resourceVersion: event.resourceVersion });
            this.#advance(event.resourceVersion, 'BOOKMARK');
          } else this.#see(watch, event.type, event.object);
        }
      }
    } catch (error) {
      const code = error instanceof StatusError ? { code: error.code } : {};
      if (!end.aborted) folder.client(this.#name, { watch, type: 'ERROR', ...code });
      throw error;
    } finally {
      folder.client(this.#name, { watch, type: 'CLOSE' });
    }
  }

  #see(watch: string, type: 'ADDED' | 'MODIFIED' | 'DELETED', { metadata }: KubeObject): void {
    const { namespace, folder } = this.#context;
    const { name = '', resourceVersion = '', uid = '' } = metadata;
    folder.client(this.#name, { watch, type, resourceVersion, uid, key: `${namespace}/${name}` });
    if (type === 'DELETED') this.#versions.delete(name);
    else this.#versions.set(name, resourceVersion);
    this.#advance(resourceVersion, type);
  }

  /** Versions of events grow; a bookmark may repeat the last one. */
  #advance(version: string, type: string): void {
    const isLater =
      type === 'BOOKMARK' ? BigInt(version) >= BigInt(this.#reached) : BigInt(version) > BigInt(this.#reached);
    if (!isLater) this.violations.push(`${this.#name}: ${type} of version ${version} after ${this.#reached}`);
    this.#reached = version;
  }
}
