import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { StatusError } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { createPodInfo } from './framework/pod-info.ts';
import { SchedulingQueue } from './queue.ts';
import { examplePod } from './testing/examples.ts';

function start() {
  const clock = new ManualClock();
  return { clock, queue: new SchedulingQueue({ clock, random: seededRandom(1) }) };
}

const info = (name: string, priority = 0) => createPodInfo(examplePod(name, { spec: { priority } }));
const names = (queue: SchedulingQueue) => queue.take(10).map((pod) => pod.key);
const FIT = new Set(['NodeResourcesFit']);

describe('a scheduling queue', () => {
  it('orders pods by priority, then by age', async () => {
    const { clock, queue } = start();
    for (const [name, priority] of [
      ['a', 0],
      ['b', 5],
      ['c', 0],
    ] as const) {
      queue.put(info(name, priority));
      await clock.advance(1);
    }
    expect(names(queue)).toEqual(['default/b', 'default/a', 'default/c']);
  });

  it('returns a pod once', () => {
    const { queue } = start();
    queue.put(info('a'));
    expect(names(queue)).toEqual(['default/a']);
    queue.put(info('a'));
    expect(names(queue)).toEqual([]);
  });

  it('keeps a refused pod until a change may help and its back-off is over', async () => {
    const { clock, queue } = start();
    queue.put(info('a'));
    queue.refused(queue.take(1)[0] ?? info('a'), FIT);
    await clock.advance(60_000);
    expect(names(queue)).toEqual([]);
    queue.move(() => false);
    expect(names(queue)).toEqual([]);
    queue.move((_, refusedBy) => refusedBy.has('NodeResourcesFit'));
    expect(names(queue)).toEqual(['default/a']);
    queue.refused(info('a'), FIT);
    queue.move(() => true);
    expect(names(queue)).toEqual([]);
    await clock.advance(2000);
    expect(names(queue)).toEqual(['default/a']);
  });

  it('retries a refused pod after a change during its decision', async () => {
    const { clock, queue } = start();
    queue.put(info('a'));
    const [taken] = queue.take(1);
    queue.move(() => true);
    queue.refused(taken ?? info('a'), FIT);
    await clock.advance(1000);
    expect(names(queue)).toEqual(['default/a']);
  });

  it('retries a refused pod after five minutes without a change', async () => {
    const { clock, queue } = start();
    queue.put(info('a'));
    queue.refused(queue.take(1)[0] ?? info('a'), FIT);
    let woken = 0;
    void queue.wait(new AbortController().signal).then(() => {
      woken += 1;
    });
    await clock.advance(299_000);
    expect(woken).toBe(0);
    await clock.advance(3000);
    expect(names(queue)).toEqual(['default/a']);
  });

  it('backs off after errors, longer each time', async () => {
    const { clock, queue } = start();
    queue.put(info('a'));
    for (const delayMs of [1000, 2000, 4000, 8000, 10_000, 10_000]) {
      queue.failed(queue.take(1)[0] ?? info('none'));
      await clock.advance(delayMs - 1);
      expect(queue.counts().active).toBe(0);
      expect(names(queue)).toEqual([]);
      await clock.advance(1);
    }
  });

  it('tries again a second after an outage, however often it failed', async () => {
    const { clock, queue } = start();
    queue.put(info('a'));
    for (let failures = 1; failures < 7; failures++) {
      queue.failed(queue.take(1)[0] ?? info('none'), StatusError.timeout('outcome unknown'));
      await clock.advance(999);
      expect(names(queue)).toEqual([]);
      await clock.advance(1);
    }
    expect(names(queue)).toEqual(['default/a']);
  });

  it('ends waiting when a pod is added, when one is due, and when aborted', async () => {
    const { clock, queue } = start();
    const stop = new AbortController();
    let woken = 0;
    const wait = async () => {
      await queue.wait(stop.signal);
      woken += 1;
    };
    void wait();
    queue.put(info('a'));
    await clock.advance(0);
    expect(woken).toBe(1);
    queue.failed(queue.take(1)[0] ?? info('none'));
    void wait();
    await clock.advance(1000);
    expect(woken).toBe(2);
    queue.take(1);
    void wait();
    stop.abort();
    await clock.advance(0);
    expect(woken).toBe(3);
  });

  it('asks changes that came during a decision whether they help, once it is known what refused the pod', async () => {
    const { clock, queue } = start();
    const asked: string[] = [];
    const change = (name: string, helpsAgainst: string) =>
      queue.move((pod, refusedBy) => {
        asked.push(`${name} ${pod.key}`);
        return refusedBy.has(helpsAgainst);
      });
    for (const name of ['a', 'b', 'c']) queue.put(info(name));
    change('before', 'NodePorts');
    const [a, b] = queue.take(2);
    change('first', 'NodePorts');
    const [c] = queue.take(1);
    change('second', 'InterPodAffinity');
    expect(asked).toEqual([]);
    if (a === undefined || b === undefined || c === undefined) throw new Error('no pods');
    queue.refused(a, new Set(['NodePorts']));
    queue.refused(c, new Set(['NodePorts']));
    queue.refused(b, FIT);
    expect(asked).toEqual(['first default/a', 'second default/c', 'first default/b', 'second default/b']);
    expect([queue.counts().backoff, queue.counts().unschedulable]).toEqual([1, 2]);
    await clock.advance(2000);
    expect(names(queue)).toEqual(['default/a']);
    // No kept change is left, and `helps` is not called for a pod that is gone.
    asked.length = 0;
    queue.refused(a, FIT);
    expect(asked).toEqual([]);
    queue.remove(b.key);
    change('third', 'NodePorts');
    expect(asked).toEqual(['third default/c', 'third default/a']);
  });

  it('tries a pod again that has changed itself during its decision', async () => {
    const { clock, queue } = start();
    queue.put(info('a'));
    const [taken] = queue.take(1);
    queue.put(createPodInfo(examplePod('a', { spec: { priority: 0, tolerations: [{ operator: 'Exists' }] } })));
    queue.refused(taken ?? info('a'), FIT);
    await clock.advance(2000);
    expect(names(queue)).toEqual(['default/a']);
  });

  it('leaves a pod alone while its binding is written', async () => {
    const { clock, queue } = start();
    const tolerant = createPodInfo(examplePod('a', { spec: { priority: 0, tolerations: [{ operator: 'Exists' }] } }));
    queue.put(info('a'));
    const [taken] = queue.take(1);
    queue.binds(taken ?? info('none'));
    expect(queue.counts()).toEqual({ active: 0, backoff: 0, unschedulable: 0 });
    queue.put(tolerant);
    queue.move(() => true);
    await clock.advance(300_000);
    expect(names(queue)).toEqual([]);
    // The binding has failed: the newest version of the pod is tried again after its back-off.
    queue.failed(taken ?? info('none'));
    expect(queue.counts()).toEqual({ active: 0, backoff: 1, unschedulable: 0 });
    await clock.advance(1000);
    expect(queue.take(1)).toEqual([tolerant]);
  });

  it('treats a pod as new that has the name of one whose binding is written', () => {
    const { queue } = start();
    queue.put(info('a'));
    const [old] = queue.take(1);
    queue.binds(old ?? info('none'));
    const replaced = { ...info('a'), uid: 'another' };
    queue.put(replaced);
    queue.failed(old ?? info('none'));
    expect(queue.take(10)).toEqual([replaced]);
    queue.binds(replaced);
    queue.remove('default/a');
    queue.failed(replaced);
    expect(queue.counts()).toEqual({ active: 0, backoff: 0, unschedulable: 0 });
  });

  it('keeps no changes of the cluster for pods whose bindings are written', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const { queue } = start();
    queue.put(info('a'));
    queue.binds(queue.take(1)[0] ?? info('none'));
    let change: (() => boolean) | undefined = () => true;
    const kept = new WeakRef(change);
    queue.move(change);
    change = undefined;
    await nextTurn();
    collectGarbage();
    expect(kept.deref()).toBeUndefined();
    expect(names(queue)).toEqual([]);
  });

  it('forgets a pod that was removed during its decision', () => {
    const { queue } = start();
    queue.put(info('a'));
    const [taken] = queue.take(1);
    queue.remove('default/a');
    queue.refused(taken ?? info('a'), FIT);
    expect(queue.counts().unschedulable).toBe(0);
  });

  it('retries a refused pod when its own rules change', async () => {
    const { clock, queue } = start();
    queue.put(info('a'));
    queue.refused(queue.take(1)[0] ?? info('a'), FIT);
    await clock.advance(1000);
    queue.put(createPodInfo(examplePod('a', { spec: { priority: 0, tolerations: [{ operator: 'Exists' }] } })));
    expect(names(queue)).toEqual(['default/a']);
  });
});
