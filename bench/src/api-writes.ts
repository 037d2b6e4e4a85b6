import type { KubeObject, Resource } from '@gantry/objects';
import type { MeasuredCluster } from './cluster.ts';

/** Writes by kind of object, counted as they happen. */
interface WriteCounter {
  readonly counts: ReadonlyMap<string, number>;
  /** Resolves when writes are counted. */
  readonly synced: Promise<unknown>;
  /** Rejects when a watch ends before `stop`. */
  readonly ended: Promise<unknown>;
  /** Rejects when a watch has ended before. */
  stop(): Promise<void>;
}

type Count = (line: string) => void;

/** Follows one resource until the signal is aborted. Calls `onSynced` when it counts what is written. */
type Counted = (
  api: MeasuredCluster['api'],
  signal: AbortSignal,
  on: { readonly synced: () => void; readonly write: Count },
) => Promise<void>;

/**
 * Counts writes of a resource, in one namespace or everywhere, under the line that `lineOf` returns; not at all where that is undefined.
 */
export function counted<T extends KubeObject>(
  resource: Resource<T>,
  lineOf: (object: T) => string | undefined,
  namespace = '',
): Counted {
  return async (api, signal, on) => {
    let state: 'before' | 'counts' = 'before';
    try {
      for await (const events of api.watch(resource, { namespace, sendInitialEvents: true }, signal)) {
        for (const event of events) {
          if (event.type === 'BOOKMARK') {
            state = 'counts';
            on.synced();
          } else if (state === 'counts') {
            const line = lineOf(event.object);
            if (line !== undefined) on.write(line);
          }
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (!signal.aborted) throw new Error(`the watch of ${resource.resource} ended before the measurement`);
  };
}

/** Counts writes by watching. */
export function countWrites(api: MeasuredCluster['api'], resources: readonly Counted[]): WriteCounter {
  const stop = new AbortController();
  const counts = new Map<string, number>();
  const write: Count = (line) => counts.set(line, (counts.get(line) ?? 0) + 1);
  const syncs = resources.map(() => Promise.withResolvers<void>());
  const following = Promise.all(
    resources.map((follow, index) => follow(api, stop.signal, { synced: () => syncs[index]?.resolve(), write })),
  );
  // A failure is thrown when the measurement ends.
  following.catch(() => undefined);
  return {
    counts,
    ended: following,
    synced: Promise.race([Promise.all(syncs.map(({ promise }) => promise)), following]),
    stop: async () => {
      stop.abort();
      await following;
    },
  };
}
