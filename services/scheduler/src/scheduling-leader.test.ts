import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { createFenceHolder, Informers } from '@gantry/controller-runtime';
import { silentLog } from '@gantry/controller-runtime/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ClusterView, SCHEDULED_RESOURCES } from './cluster-view.ts';
import { SchedulingQueue } from './queue.ts';
import { createSchedulingLeader } from './scheduling-leader.ts';

function startLeader() {
  const stop = new AbortController();
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  const fences = createFenceHolder();
  const base = { client, clock, random: () => 0.5, log: silentLog };
  const informers = new Informers({ ...base, resources: SCHEDULED_RESOURCES });
  const queue = new SchedulingQueue(base);
  const leader = createSchedulingLeader({
    ...base,
    fences,
    informers,
    queue,
    view: new ClusterView(queue),
    component: 'kube-scheduler',
    identity: 'me',
    onResult: () => undefined,
    onPreemption: () => undefined,
  });
  const following = informers.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await following;
  });
  return { clock, client, fences, leader, stop };
}

const term = (epoch: number) => ({ electionKey: '/gantry/elections/kube-scheduler', epoch, incarnation: 'i' });

describe('the leading scheduler', () => {
  it('has a fence from the moment its caches have reached the epoch until the term ends', async () => {
    const { clock, client, fences, leader, stop } = startLeader();
    await clock.advance(10);
    const epoch = client.revision;
    const leading = leader.lead(term(epoch), stop.signal);
    await clock.advance(10);
    expect(fences.fence()).toMatchObject({ epoch });
    stop.abort();
    await leading;
    expect(fences.fence()).toBeUndefined();
  });

  it('can be drained before its caches have reached the epoch: that is no failure of the term', async () => {
    const { clock, client, fences, leader, stop } = startLeader();
    await clock.advance(10);
    const leading = leader.lead(term(client.revision + 1000), stop.signal);
    await leader.drain();
    expect(fences.fence()).toBeUndefined();
    stop.abort();
    await leading;
  });

  it('takes no further term once it is drained', async () => {
    const { clock, client, fences, leader, stop } = startLeader();
    await leader.drain();
    const leading = leader.lead(term(client.revision), stop.signal);
    await clock.advance(100);
    expect(fences.fence()).toBeUndefined();
    expect(client.writes).toEqual([]);
    stop.abort();
    await leading;
  });
});
