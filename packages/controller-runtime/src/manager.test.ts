import { CONFIG_MAPS, type ConfigMap, EVENTS, LEASES, StatusError } from '@gantry/objects';
import { type ElectionEvent, untilAborted } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ControllerContext, ControllerSpec } from './controller.ts';
import { createFenceHolder, type FenceHolder } from './leader.ts';
import { createManager, type Manager } from './manager.ts';
import { silentLog } from './testing/silent-log.ts';
import { watchSelf } from './watch-specs.ts';

function configMap(name: string): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'a' }, data: {} };
}

describe('a manager', () => {
  let clock: ManualClock;
  let client: FakeObjectClient;
  let fences: FenceHolder;
  let stop: AbortController;
  let seen: string[];
  let work: (name: string, context: ControllerContext, signal: AbortSignal) => Promise<void>;
  let onEnd: () => void;
  let manager: Manager;
  beforeEach(() => {
    clock = new ManualClock();
    client = new FakeObjectClient(clock);
    fences = createFenceHolder();
    stop = new AbortController();
    seen = [];
    work = async () => undefined;
    onEnd = () => undefined;
    const controller: ControllerSpec = {
      name: 'test',
      eventSource: 'test-controller',
      watches: [watchSelf(CONFIG_MAPS)],
      end: () => onEnd(),
      reconcile: async ({ name }, context, signal) => {
        seen.push(name);
        await work(name, context, signal);
        return {};
      },
    };
    manager = createManager({
      client,
      fences,
      component: 'kube-test',
      identity: 'me',
      controllers: [controller],
      clock,
      random: () => 0.5,
      log: silentLog,
    });
  });
  afterEach(() => stop.abort());
  const term = (epoch: number) => ({ electionKey: '/gantry/elections/kube-test', epoch, incarnation: 'i' });

  it('keeps its cache warm as a standby and reconciles nothing', async () => {
    await client.put(CONFIG_MAPS, configMap('one'));
    void manager.run(stop.signal);
    await clock.advance(100);
    expect(manager.missing()).toEqual([]);
    expect(manager.cache.list(CONFIG_MAPS)).toHaveLength(1);
    expect(seen).toEqual([]);
    expect(fences.fence()).toBeUndefined();
  });

  it('looks at everything when its term begins, then at what changes', async () => {
    await client.put(CONFIG_MAPS, configMap('one'));
    void manager.run(stop.signal);
    void manager.leader.lead(term(1), stop.signal);
    await clock.advance(100);
    expect(seen).toEqual(['one']);
    await client.put(CONFIG_MAPS, configMap('two'));
    await clock.advance(100);
    expect(seen).toEqual(['one', 'two']);
    expect(fences.fence()).toMatchObject({ epoch: 1, cacheRevision: expect.any(Number) });
  });

  it('does not act before its cache has reached the epoch', async () => {
    await client.put(CONFIG_MAPS, configMap('one'));
    void manager.run(stop.signal);
    await clock.advance(100);
    void manager.leader.lead(term(client.revision + 1), stop.signal);
    await clock.advance(100);
    expect(seen).toEqual([]);
    await client.put(CONFIG_MAPS, configMap('two'));
    await clock.advance(100);
    expect(seen).toEqual(['one', 'two']);
  });

  it('does not look at a key again before the cache shows what was written for it', async () => {
    const stale: boolean[] = [];
    work = async (name, { cache, client: writer }, signal) => {
      const current = cache.get(CONFIG_MAPS, { namespace: 'a', name });
      const count = Number(current?.data?.['count'] ?? 0);
      stale.push(seen.length - 1 !== count);
      if (count === 3) return;
      const patch = { data: { count: String(count + 1) } };
      await writer.patch(CONFIG_MAPS, { namespace: 'a', name }, { merge: patch }, signal);
    };
    await client.put(CONFIG_MAPS, configMap('one'));
    void manager.run(stop.signal);
    void manager.leader.lead(term(1), stop.signal);
    await clock.advance(1000);
    expect(stale).toEqual([false, false, false, false]);
  });

  it('ends a term of its controllers after what is under way', async () => {
    const gate = Promise.withResolvers<void>();
    const ending = new AbortController();
    onEnd = () => void seen.push('end');
    work = async () => {
      await gate.promise;
      seen.push('done');
    };
    await client.put(CONFIG_MAPS, configMap('one'));
    void manager.run(stop.signal);
    const leading = manager.leader.lead(term(1), ending.signal);
    await clock.advance(100);
    ending.abort();
    await clock.advance(100);
    expect(seen).toEqual(['one']);
    gate.resolve();
    await leading;
    expect(seen).toEqual(['one', 'done', 'end']);
  });

  it('tries again after a failure, later each time', async () => {
    work = async () => {
      if (seen.length < 3) throw StatusError.internal('no');
    };
    await client.put(CONFIG_MAPS, configMap('one'));
    void manager.run(stop.signal);
    void manager.leader.lead(term(1), stop.signal);
    await clock.advance(10);
    expect(seen).toHaveLength(1);
    await clock.advance(1000);
    expect(seen).toHaveLength(3);
  });

  it('finishes what is under way when it drains, and takes nothing new', async () => {
    const gate = Promise.withResolvers<void>();
    work = () => gate.promise;
    await client.put(CONFIG_MAPS, configMap('one'));
    void manager.run(stop.signal);
    const leading = manager.leader.lead(term(1), stop.signal);
    await clock.advance(100);
    let drained = false;
    const draining = manager.leader.drain().then(() => {
      drained = true;
    });
    await client.put(CONFIG_MAPS, configMap('two'));
    await clock.advance(100);
    expect(drained).toBe(false);
    gate.resolve();
    await clock.advance(100);
    await draining;
    expect(seen).toEqual(['one']);
    expect(fences.fence()).toBeUndefined();
    stop.abort();
    await leading;
  });

  it('shows who leads in a Lease and an Event', async () => {
    void manager.run(stop.signal);
    void manager.leader.lead(term(1), stop.signal);
    await clock.advance(100);
    expect(client.all(LEASES)[0]).toMatchObject({
      metadata: { name: 'kube-test', namespace: 'kube-system' },
      spec: { holderIdentity: 'me', leaseTransitions: 0 },
    });
    expect(client.all(EVENTS)[0]).toMatchObject({ reason: 'LeaderElection', message: 'me became leader' });
  });

  it.each([
    ['goes on in a term in which it has written nothing', 'nothing', ['one', 'one']],
    ['gives up a term in which it has written: a write that was cut off may come later', 'written', ['one']],
  ])('stops at a suspension, and %s', async (_, writes, reconciled) => {
    const events: ElectionEvent[] = [
      { kind: 'elected', term: term(1) },
      { kind: 'suspended' },
      { kind: 'resumed', term: term(1) },
    ];
    let campaigns = 0;
    const campaign = async function* (signal: AbortSignal) {
      campaigns++;
      for (const event of campaigns === 1 ? events : []) {
        yield event;
        await new Promise<void>((resolve) => clock.setTimer(1000, resolve));
      }
      await untilAborted(signal);
    };
    // The client of a real process asks for the fence at each write.
    if (writes === 'written') work = async () => void (await Promise.resolve(fences.fence()));
    await client.put(CONFIG_MAPS, configMap('one'));
    void manager.run(stop.signal);
    void manager.leader.member({ campaign }).run(stop.signal);
    await clock.advance(1500);
    expect({ seen, fence: fences.fence() }).toEqual({ seen: ['one'], fence: undefined });
    await clock.advance(10_000);
    expect({ seen, campaigns }).toEqual({ seen: reconciled, campaigns: writes === 'written' ? 2 : 1 });
  });
});
