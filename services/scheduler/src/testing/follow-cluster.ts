import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { Informers } from '@gantry/controller-runtime';
import { silentLog } from '@gantry/controller-runtime/testing';
import { onTestFinished } from 'vitest';
import { ClusterView, SCHEDULED_RESOURCES } from '../cluster-view.ts';
import { SchedulingQueue } from '../queue.ts';

/** The caches, the view and the queue of a scheduler. They follow an API server until the test ends. */
export function followCluster() {
  const stop = new AbortController();
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  const base = { clock, random: () => 0.5, log: silentLog };
  const informers = new Informers({ ...base, client, resources: SCHEDULED_RESOURCES });
  const queue = new SchedulingQueue(base);
  const view = new ClusterView(queue);
  informers.subscribe((event) => view.take(event));
  const following = informers.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await following;
  });
  return { stop, clock, client, view, options: { ...base, client, cache: informers.cache, view, queue } };
}
