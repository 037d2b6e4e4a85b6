import { must } from '@gantry/base';
import { type Pod, PODS, type PodStatus } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { OWNER, soon, startNode, type TestNode } from '../testing/start-node.ts';

/** `NAME STARTED READY` of each container, and the pod's condition Ready. */
function shown(status: PodStatus | undefined): string {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return [...all.map(({ name, started, ready: isReady }) => `${name} ${started} ${isReady}`), `pod ${ready}`].join();
}

/** As `soon`, with a clock that goes faster. */
const later = <T>(node: TestNode, read: () => T) =>
  soon(node, async () => {
    await node.clock.advance(50);
    return read();
  });

const current = (node: TestNode) => shown(node.client.all(PODS)[0]?.status);

/** What the agents have reported of the pod since the first `count` writes. */
function reported(node: TestNode, count: number): readonly string[] {
  return node.client.writes
    .slice(count)
    .flatMap((write) =>
      'object' in write && write.subresource === 'status' ? [shown((write.object as Pod).status)] : [],
    );
}

const READY = 'side true true,main true true,plain true true,pod True';

/** Starts a pod with all probes and with a sidecar that has a startup probe, and waits until it is ready. */
async function startProbed() {
  /** The exit code of the probes' commands, and how many ran. */
  const probes = { exitCode: 0, count: 0 };
  const exec = () => {
    probes.count += 1;
    return { exitCode: probes.exitCode, output: '' };
  };
  const node = await startNode({ behaviour: { exec } });
  const probe = (successThreshold: number) => ({ exec: { command: ['check'] }, periodSeconds: 1, successThreshold });
  const main = { startupProbe: probe(1), readinessProbe: probe(3) };
  const object = pod({
    initContainers: [container('side', { restartPolicy: 'Always', startupProbe: probe(1) })],
    containers: [container('main', main), container('plain')],
  });
  const { metadata } = await node.put(object);
  const { uid = '' } = metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  await later(node, () => current(node)).toBe(READY);
  await node.end();
  return { world: node, uid, probes, writes: node.client.writes.length };
}

/** Starts the agent again on the same node. */
async function restart(world: TestNode, uid: string): Promise<TestNode> {
  const node = await startNode({ world });
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  return node;
}

it('a restarted agent leaves a ready pod ready, and probes on from there', async () => {
  const { world, uid, probes, writes } = await startProbed();
  const before = probes.count;
  const node = await restart(world, uid);
  await later(node, () => probes.count).toBeGreaterThan(before + 3);
  expect(reported(node, writes).filter((line) => line !== READY)).toEqual([]);
  probes.exitCode = 1;
  await later(node, () => current(node)).toBe('side true true,main true false,plain true true,pod False');
});

it('a container that ended meanwhile has to become started and ready anew', async () => {
  const { world, uid, writes } = await startProbed();
  const [state] = await world.hollow.observer.listPods(OWNER);
  world.hollow.exit(
    must(
      state?.containers.find(({ name }) => name === 'main'),
      'a container',
    ).id,
    1,
  );
  const node = await restart(world, uid);
  await later(node, () => reported(node, writes)).toContain('side true true,main true false,plain true true,pod False');
  await later(node, () => current(node)).toBe(READY);
});
