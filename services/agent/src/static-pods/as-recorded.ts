import type { Runtime } from '../runtime/runtime.ts';
import type { NodePodView } from './node-pod-view.ts';

/** A runtime that is asked about pods by the uids of their objects in the API: it finds a static pod by that of its mirror. */
export function asRecorded<R extends Runtime>(runtime: R, pods: Pick<NodePodView, 'podUid'>): R {
  const { observer } = runtime;
  return {
    ...runtime,
    observer: {
      watch: (cluster, signal) => observer.watch(cluster, signal),
      listPods: (filter, signal) =>
        observer.listPods(
          filter.podUid === undefined ? filter : { ...filter, podUid: pods.podUid(filter.podUid) },
          signal,
        ),
    },
  };
}
