import { EVENTS, type KubeObject, LEASES, NODES, PODS, type Resource } from '@gantry/objects';
import type { MeasuredCluster } from './cluster.ts';

/** Writes by kind of object, counted as they happen. */
export interface WriteCounter {
  readonly counts: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

/** Counts what is written about a node by watching it: its Lease, its Node, its pods, and the Events that it records. */
export function countWrites(api: MeasuredCluster['api'], node: string): WriteCounter {
  const stop = new AbortController();
  const counts = new Map<string, number>();
  const follow = async <T extends KubeObject>(resource: Resource<T>, isOurs: (object: T) => boolean) => {
    let state: 'before' | 'counts' = 'before';
    for await (const events of api.watch(resource, { sendInitialEvents: true }, stop.signal)) {
      for (const event of events) {
        if (event.type === 'BOOKMARK') state = 'counts';
        else if (state === 'counts' && isOurs(event.object)) {
          counts.set(resource.resource, (counts.get(resource.resource) ?? 0) + 1);
        }
      }
    }
    if (!stop.signal.aborted) throw new Error(`the watch of ${resource.resource} ended before the measurement`);
  };
  const following = Promise.all([
    follow(LEASES, ({ metadata }) => metadata.name === node),
    follow(NODES, ({ metadata }) => metadata.name === node),
    follow(PODS, ({ spec }) => spec?.nodeName === node),
    follow(EVENTS, ({ source, reportingInstance }) => source?.host === node || reportingInstance === node),
  ]);
  // A failure is thrown when the measurement ends.
  following.catch(() => undefined);
  return {
    counts,
    stop: async () => {
      stop.abort();
      await following.catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
    },
  };
}
