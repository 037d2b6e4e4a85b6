/** The agent's behaviour while its engine restarts, crashes, hangs or has no space left, on the test's own engine. */
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Clock, systemClock } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { LEASES, NODES, PODS } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { expect, it } from 'vitest';
import { Heartbeat } from '../node/heartbeat.ts';
import { HostShares } from '../node/host-shares.ts';
import { PLAIN_REGISTRATION } from '../node/registration.ts';
import { NodeStatusManager, ImageList } from '../node/node-status-manager.ts';
import { SANDBOX_NAME } from '../runtime/labels.ts';
import type { RuntimeEvent } from '../runtime/observer.ts';
import { connectDocker } from './docker-runtime.ts';
import { containerName } from './options/identity.ts';
import { BUSYBOX, type EngineNode, PAUSE, runsAfter, scriptPod, startEngineNode } from './testing/engine-node.ts';
import { OwnEngine } from './testing/own-engine.ts';

const { signal } = new AbortController();
const FOREVER = 'trap "exit 0" TERM; while true; do sleep 0.1; done';
const IMAGES = [BUSYBOX, PAUSE];
const POLL = { timeout: 60_000, interval: 50 };

const remove = (node: EngineNode, name: string) => node.client.delete(PODS, { namespace: 'default', name }, {}, signal);

/** Returns the running containers of a pod, each once. */
const runningOf = async (node: EngineNode, name: string) =>
  (await node.containers(name)).filter((one) => one.endsWith(' running'));
const attempts = (main: number, sandbox: number) => [`main ${main} running`, `sandbox ${sandbox} running`];

it.each([
  ['restarted', 'SIGTERM'],
  ['crashed', 'SIGKILL'],
] as const)(
  'after an engine has %s, pods run again, each container once, and what was asked for meanwhile is done',
  async (_, end) => {
    await using engine = await OwnEngine.start({ diskMiB: 128 });
    await engine.load(...IMAGES);
    await using node = await startEngineNode(engine);
    const volumes = [{ name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }];
    const mount = { volumeMounts: [{ name: 'memory', mountPath: '/memory' }] };
    await node.put(scriptPod('kept', `touch /memory/file; ${FOREVER}`, { volumes }, mount));
    await node.put(scriptPod('once', FOREVER, { restartPolicy: 'Never' }));
    await node.put(scriptPod('unwanted', FOREVER));
    for (const name of ['kept', 'once', 'unwanted']) await node.until(name, runsAfter(0));

    await engine.end(end);
    await remove(node, 'unwanted');
    await node.put(scriptPod('late', FOREVER));
    await engine.begin();
    // The container may have been started once more in the sandbox that was about to end.
    await node.until('kept', (pod) => [1, 2].some((restarts) => runsAfter(restarts)(pod)));
    await node.until('late', runsAfter(0));
    const { status } = await node.until(
      'once',
      (pod) => pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded',
    );
    expect(status?.containerStatuses?.[0]).toMatchObject({ restartCount: 0, state: { terminated: {} } });
    await expect
      .poll(() => runningOf(node, 'kept'), POLL)
      .toEqual([expect.stringMatching(/^main [12] running$/), expect.stringMatching(/^sandbox [01] running$/)]);
    await expect.poll(() => runningOf(node, 'late'), POLL).toEqual(attempts(0, 0));
    await expect.poll(() => node.containers('unwanted'), POLL).toEqual([]);

    for (const name of ['kept', 'once', 'late']) await remove(node, name);
    await expect.poll(() => engine.docker('ps', '-aq'), POLL).toBe('');
  },
);

it('containers that outlive their engine go on, and what happens to them afterwards is seen', async () => {
  await using engine = await OwnEngine.start({ diskMiB: 128, containers: 'outlive-it' });
  await engine.load(...IMAGES);
  await using node = await startEngineNode(engine);
  await node.put(scriptPod('web', FOREVER));
  const before = await node.until('web', runsAfter(0));
  await engine.end('SIGKILL');
  await engine.begin();
  await node.put(scriptPod('late', FOREVER));
  await node.until('late', runsAfter(0));
  expect(node.find('web')?.status?.containerStatuses).toEqual(before.status?.containerStatuses);
  expect(await node.containers('web')).toEqual(attempts(0, 0));

  const id = before.status?.containerStatuses?.[0]?.containerID?.replace('docker://', '') ?? '';
  await engine.docker('kill', id);
  await node.until('web', runsAfter(1));
});

/** Reports the node's status. Its patience with the engine uses the test's clock. */
function statusOf(engine: OwnEngine, node: EngineNode, clock: ManualClock) {
  const api = new FakeObjectClient(clock);
  const runtime = connectDocker(
    engine.socket,
    () => 'full',
    clock,
    () => undefined,
  );
  const manager = new NodeStatusManager({
    client: api,
    engine: runtime.engine,
    observation: {
      name: 'n',
      engineName: 'e',
      address: '10.0.0.1',
      gatewayAddress: undefined,
      hostAddress: '',
      forwardedFrom: '',
      engine: node.services.engine,
      ids: { machine: 'm', boot: 'b', system: 's' },
      privilege: 'no-sys-resource',
      registration: PLAIN_REGISTRATION,
    },
    shares: new HostShares({ cpus: 1, memoryBytes: 1, storageBytes: 1 }, NOTHING, 1),
    view: { observe: () => undefined },
    pressures: () => [],
    images: new ImageList(runtime.images, clock, silentLogger),
    clock,
    logger: silentLogger,
  });
  const heartbeat = new Heartbeat({
    client: api,
    node: 'n',
    clock,
    logger: silentLogger,
    nodeUid: () => undefined,
    onNodeGone: () => undefined,
    onRecovered: () => manager.checkNow(),
  });
  const ready = () => api.all(NODES)[0]?.status?.conditions?.find(({ type }) => type === 'Ready');
  const renewedAt = () => Date.parse(api.all(LEASES)[0]?.spec?.renewTime ?? '');
  return { manager, heartbeat, ready, renewedAt };
}

const NOTHING = { cpuMillis: 0, memoryBytes: 0, storageBytes: 0 };

it('while an engine hangs its node is not ready and says why; then all that was asked for meanwhile is done once', async () => {
  await using engine = await OwnEngine.start({ diskMiB: 128 });
  await engine.load(...IMAGES);
  await using node = await startEngineNode(engine);
  const clock = new ManualClock();
  const { manager, heartbeat, ready, renewedAt } = statusOf(engine, node, clock);
  await manager.register(signal);
  expect(ready()?.status).toBe('True');
  const following = Promise.all([manager.run(node.stop.signal), heartbeat.run(node.stop.signal)]);
  for (const name of ['kept', 'unwanted']) await node.put(scriptPod(name, FOREVER));
  for (const name of ['kept', 'unwanted']) await node.until(name, runsAfter(0));

  engine.hang();
  await remove(node, 'unwanted');
  await node.put(scriptPod('late', FOREVER));
  const message = 'container runtime is down: the engine has not answered within 15 s';
  const look = async () => {
    await clock.advance(5_000);
    return ready();
  };
  await expect.poll(look, POLL).toMatchObject({ status: 'False', reason: 'KubeletNotReady', message });
  expect(node.find('kept')?.status?.phase).toBe('Running');
  expect(node.find('late')?.status?.phase).not.toBe('Running');
  // A node that is not ready is not lost: its Lease is renewed, whatever the state of its engine.
  const hungAt = clock.now();
  await clock.advance(10_000);
  await expect.poll(renewedAt, POLL).toBeGreaterThan(hungAt);
  expect(ready()?.status).toBe('False');

  engine.wake();
  await expect.poll(look, POLL).toMatchObject({ status: 'True' });
  await node.until('late', runsAfter(0));
  await expect.poll(() => node.containers('unwanted'), POLL).toEqual([]);
  for (const name of ['kept', 'late']) expect(await node.containers(name)).toEqual(attempts(0, 0));
  expect(node.find('kept')).toSatisfy(runsAfter(0));
  node.stop.abort();
  await following;
});

/** The machine's clock, except for waits of a minute or longer. These continue when the test says so. */
class MinuteClock implements Clock {
  readonly #waiting = new Set<() => void>();

  now = () => systemClock.now();
  monotonicMs = () => systemClock.monotonicMs();

  setTimer(delayMs: number, fire: () => void): () => void {
    if (delayMs < 60_000) return systemClock.setTimer(delayMs, fire);
    this.#waiting.add(fire);
    return () => void this.#waiting.delete(fire);
  }

  passMinutes(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const fire of waiting) fire();
  }
}

it('a container whose end the engine reported in vain is found by the next list of all pods', async () => {
  await using engine = await OwnEngine.start({ diskMiB: 128 });
  await engine.load(...IMAGES);
  const clock = new MinuteClock();
  const lost: string[] = [];
  const loses = ({ what, podUid }: RuntimeEvent) => {
    if (what !== 'ended') return false;
    lost.push(podUid);
    return true;
  };
  await using node = await startEngineNode(engine, { clock, loses });
  await node.put(scriptPod('web', FOREVER));
  const { metadata, status } = await node.until('web', runsAfter(0));
  await engine.docker('kill', status?.containerStatuses?.[0]?.containerID?.replace('docker://', '') ?? '');
  await expect.poll(() => lost, POLL).toContain(metadata.uid);
  expect(node.find('web')?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  clock.passMinutes();
  await node.until('web', runsAfter(1));
  expect(await runningOf(node, 'web')).toEqual(attempts(1, 0));
});

it("a foreign container under a name that a pod's next container has is left alone, and the pod waits and says why", async () => {
  await using engine = await OwnEngine.start({ diskMiB: 128 });
  await engine.load(...IMAGES);
  await using node = await startEngineNode(engine);
  await node.put(scriptPod('web', FOREVER));
  const { metadata } = await node.until('web', runsAfter(0));
  const pod = { namespace: 'default', name: 'web', uid: metadata.uid ?? '' };
  const taken = [containerName(pod, SANDBOX_NAME, 1), containerName(pod, 'main', 1)] as const;
  const foreign: string[] = [];
  for (const name of taken) {
    foreign.push(await engine.docker('run', '-d', '--network', 'host', '--name', name, BUSYBOX, 'sleep', '1000'));
  }
  const format = '{{.Id}} {{.State.Status}} {{.State.StartedAt}} {{.RestartCount}}';
  const lookAtForeign = () => engine.docker('inspect', '-f', format, ...foreign);
  const before = await lookAtForeign();
  const [ofSandbox = '', ofMain = ''] = foreign;
  const isTaken = (name: string, by: string) => `container name "/${name}" is already in use by container "${by}"`;
  const said = () => node.events.join('\n');

  await engine.docker(
    'kill',
    await engine.docker('ps', '-q', '--filter', `name=${containerName(pod, SANDBOX_NAME, 0)}`),
  );
  await expect.poll(said, POLL).toContain(isTaken(taken[0], ofSandbox));
  expect(said()).toMatch(/^Warning FailedCreatePodSandBox Failed to create pod sandbox: .*is already in use/m);
  await engine.docker('rename', taken[0], 'renamed-sandbox');
  await expect.poll(said, POLL).toContain(isTaken(taken[1], ofMain));
  expect(said()).toMatch(/^Warning Failed Error: .*is already in use/m);
  await engine.docker('rename', taken[1], 'renamed-main');
  await node.until('web', runsAfter(1));
  // When the old sandbox is gone, the next one gets its name again.
  expect(await runningOf(node, 'web')).toEqual(['main 1 running', expect.stringMatching(/^sandbox [01] running$/)]);
  expect(await lookAtForeign()).toBe(before);

  await remove(node, 'web');
  const left = async () => (await engine.docker('ps', '-aq', '--no-trunc')).split('\n').toSorted();
  await expect.poll(left, POLL).toEqual(foreign.toSorted());
  expect(await lookAtForeign()).toBe(before);
});

/** Uses all space of the engine's disk. Returns a function that frees the space. */
async function fill(engine: OwnEngine): Promise<() => Promise<void>> {
  const file = join(engine.folder, 'filler');
  await promisify(execFile)('sh', ['-c', 'cat /dev/zero > "$1" || true', 'fill', file]);
  return () => rm(file);
}

it('on a full disk pods go on, new ones say what is wrong, and with space again all is done and nothing is left', async () => {
  await using engine = await OwnEngine.start({ diskMiB: 64 });
  await engine.load(...IMAGES);
  await using node = await startEngineNode(engine);
  await node.put(scriptPod('kept', FOREVER));
  await node.put(scriptPod('broken', FOREVER));
  for (const name of ['kept', 'broken']) await node.until(name, runsAfter(0));

  const free = await fill(engine);
  await node.put(
    scriptPod(
      'late',
      FOREVER,
      { volumes: [{ name: 'v', emptyDir: {} }] },
      { volumeMounts: [{ name: 'v', mountPath: '/v' }] },
    ),
  );
  const id = node.find('broken')?.status?.containerStatuses?.[0]?.containerID?.replace('docker://', '') ?? '';
  await engine.docker('kill', id);
  const said = () => node.events.join('\n');
  await expect.poll(said, POLL).toMatch(/^Warning FailedCreatePodSandBox .*no space left on device/m);
  await expect.poll(said, POLL).toMatch(/^Warning Failed Error: .*no space left on device/m);
  await node.until('broken', ({ status }) => status?.containerStatuses?.[0]?.state?.running === undefined);
  expect(node.find('kept')).toSatisfy(runsAfter(0));
  await free();
  await node.until('late', runsAfter(0));
  await node.until('broken', ({ status }) => status?.containerStatuses?.[0]?.ready === true);
  for (const name of ['kept', 'late']) expect(await runningOf(node, name)).toEqual(attempts(0, 0));
  await expect
    .poll(() => runningOf(node, 'broken'), POLL)
    .toEqual([expect.stringMatching(/^main \d+ running$/), 'sandbox 0 running']);
  for (const name of ['kept', 'broken', 'late']) await remove(node, name);
  await expect.poll(() => engine.docker('ps', '-aq'), POLL).toBe('');
});
