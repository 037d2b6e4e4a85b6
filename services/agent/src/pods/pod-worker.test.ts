import type { FakeCall } from '@gantry/client/testing';
import { CONFIG_MAPS, PODS, StatusError } from '@gantry/objects';
import { expect, it } from 'vitest';
import { AgentError } from '../runtime/agent-error.ts';
import { container, pod } from '../testing/pods.ts';
import { OWNER, startNode } from '../testing/start-node.ts';
import { PodWorker } from './pod-worker.ts';

it('acts for no pod that is gone though its watch does not say so: it looks again after the gate', async () => {
  const created: string[] = [];
  const {
    clock,
    client,
    pods,
    runtime,
    services,
    stop,
    put: putPod,
  } = await startNode({
    wrap: (hollow) => ({
      ...hollow,
      sandboxes: {
        ...hollow.sandboxes,
        createSandbox: (spec, signal, made) => {
          created.push(spec.pod.uid);
          return hollow.sandboxes.createSandbox(spec, signal, made);
        },
      },
    }),
  });
  const put = async (name: string) => {
    const volumes = [{ name: 'v', configMap: { name: `of-${name}` } }];
    const object = pod({ containers: [container()], volumes }, {}, { name });
    const config = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: object.metadata.namespace, name: `of-${name}` },
    };
    await client.put(CONFIG_MAPS, config);
    return await putPod(object);
  };
  const [gone, lives] = [await put('gone'), await put('lives')];
  await clock.advance(10);
  client.failNext(({ verb }) => verb === 'watch', StatusError.unavailable('down'), Number.POSITIVE_INFINITY);
  client.breakWatches();
  await clock.advance(10);
  await client.delete(PODS, { namespace: gone.metadata.namespace ?? '', name: 'gone' }, {}, stop.signal);
  expect(pods.get(gone.metadata.uid ?? '')).toBeDefined();
  const mounted = new Set<string>();
  const note = ({ verb, resource, name }: FakeCall): boolean => {
    if (verb === 'get' && resource.resource === CONFIG_MAPS.resource) mounted.add(name);
    return false;
  };
  client.failNext(note, StatusError.unavailable('never'), Number.POSITIVE_INFINITY);
  for (const { metadata } of [gone, lives]) {
    void new PodWorker(metadata.uid ?? '', services, () => false).run(stop.signal);
  }
  const containers = async () => {
    await clock.advance(1000);
    const states = await runtime.observer.listPods(OWNER, stop.signal);
    return states.map(({ identity, containers: { length } }) => [identity.uid, length]);
  };
  await expect.poll(containers).toEqual([[lives.metadata.uid, 1]]);
  expect([...mounted]).toEqual(['of-lives']);
  expect(created).toEqual([lives.metadata.uid]);
});

it('tries again within 1.2 s after an outage, however long that was', async () => {
  const tries: number[] = [];
  const { clock, client, put, work } = await startNode();
  const object = await put(pod());
  await clock.advance(10);
  const isRead = ({ verb }: FakeCall) => {
    if (verb === 'list') tries.push(clock.now());
    return verb === 'list';
  };
  client.failNext(isRead, StatusError.unavailable('away'), Number.POSITIVE_INFINITY);
  work(object.metadata.uid ?? '');
  await clock.advance(60_000);
  const [before = 0, last = 0] = tries.slice(-2);
  expect(last - before).toBeLessThanOrEqual(1200);
  expect(last - before).toBeGreaterThanOrEqual(800);
});

it('hears a deletion while it waits after a failure', async () => {
  let tries = 0;
  const { clock, stop, client, put, work } = await startNode({
    wrap: (runtime) => ({
      ...runtime,
      observer: {
        ...runtime.observer,
        listPods: async () => {
          tries += 1;
          throw new AgentError('Runtime', 'the engine is busy');
        },
      },
    }),
  });
  const object = await put(pod({}, {}, { finalizers: ['example.com/keep'] }));
  await clock.advance(10);
  work(object.metadata.uid ?? '');
  await clock.advance(31_000);
  // The tries are after 0, 0.5, 1.5, 3.5, 7.5, 15.5 and 25.5 s. The next one is due in 4.5 s.
  expect(tries).toBe(7);
  await client.delete(PODS, { namespace: 'default', name: 'web' }, {}, stop.signal);
  await clock.advance(100);
  expect(tries).toBe(8);
});
