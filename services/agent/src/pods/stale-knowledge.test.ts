import { SeccompProfiles } from './seccomp-profiles.ts';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { Evictions } from '../eviction/evictions.ts';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { CONTAINERS_STOPPED, type Pod, PODS } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hollowMounts } from '../hollow/hollow-mounts.ts';
import { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { apiConfigSource, apiClaimSource } from '../sources/api-config-source.ts';
import { ConfigWatch } from '../sources/config-watch.ts';
import { PodSource } from '../sources/pod-source.ts';
import { TokenSource } from '../sources/token-source.ts';
import { StatusReporter } from '../status/status-reporter.ts';
import { container, ENGINE, nodeFacts, RESOLVER } from '../testing/pods.ts';
import { PersistentFolders } from '../volumes/persistent-folders.ts';
import { PodVolumes } from '../volumes/pod-volumes.ts';
import { AddressPool } from './address-pool.ts';
import { ImageUsers } from './image-users.ts';
import { ImageVolumes } from './image-volumes.ts';
import { unsharedPulls } from '../images/host-pulls.ts';
import { ImagePuller } from '../images/image-puller.ts';
import { PulledImages } from '../images/pulled-images.ts';
import { linuxHostFiles } from '../mounts/linux-host-files.ts';
import { AtMostOne } from '../fencing/at-most-one.ts';
import { UNFENCED } from '../fencing/fence.ts';
import { FreshnessGate } from './freshness-gate.ts';
import { CleanupWorker } from './cleanup-worker.ts';
import { PodWorker } from './pod-worker.ts';
import { ProbeMetrics } from '../probes/probe-metrics.ts';
import { TimerWheel } from '../probes/timer-wheel.ts';
import { Slots, commandLimits } from './slots.ts';
import { StepLog } from './step-log.ts';
import type { WorkerServices } from './worker-services.ts';

const KEY = { namespace: 'n', name: 'web' };
const OWNER = { cluster: 'c', node: 'node-a' };
const IMAGE = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] };

describe('the worker of a pod', () => {
  let clock: ManualClock;
  let server: FakeObjectClient;
  let runtime: HollowRuntime;
  let folder: string;
  let stop: AbortController;
  let pods: PodSource;
  let running: Promise<unknown>;
  let confirm: () => Promise<void>;
  let looks: number;
  let silent: boolean;
  let questions: number;
  beforeEach(async () => {
    clock = new ManualClock();
    server = new FakeObjectClient(clock);
    runtime = new HollowRuntime({ clock, images: { pause: IMAGE, 'nginx:1.27': IMAGE } });
    folder = await mkdtemp(join(tmpdir(), 'gantry-worker-'));
    stop = new AbortController();
    confirm = () => Promise.resolve();
    looks = 0;
    silent = true;
    questions = 0;
    const volumes = [{ name: 'scratch', emptyDir: {} }];
    const spec = { containers: [container()], volumes, nodeName: 'node-a', restartPolicy: 'Always' };
    await server.put<Pod>(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { ...KEY }, spec });
    pods = new PodSource({ client: server, node: 'node-a', clock, random: () => 0.5, logger: silentLogger });
    running = pods.run(stop.signal);
    await clock.advance(100);
  });
  afterEach(async () => {
    stop.abort();
    await clock.advance(1000);
    await running;
    await rm(folder, { recursive: true });
  });

  /** Starts the worker of the only pod. */
  const start = (kind: 'own' | 'cleanup' = 'own') => {
    const facts = nodeFacts(1000, { nodeName: 'node-a', nodeAddress: '10.0.0.1' });
    const source = apiConfigSource(server);
    const configs = new ConfigWatch({ client: server, source, clock, random: () => 0.5, logger: silentLogger });
    const state = { path: folder, hostPath: folder };
    const pulled = new PulledImages(join(folder, 'images'), 'n');
    const gate = new FreshnessGate(clock, () => {
      looks += 1;
      return confirm();
    });
    const services: WorkerServices = {
      owner: OWNER,
      facts,
      resolver: RESOLVER,
      engine: ENGINE,
      privilege: 'full',
      hostFiles: linuxHostFiles(async () => state.path),
      podNetwork: 'pods',
      seccomp: new SeccompProfiles('/nonexistent'),
      processLimit: 'unlimited',
      sandboxImage: 'pause',
      baseEnvironment: {},
      linkedServices: { inNamespaces: async () => [], run: async () => undefined },
      runtime,
      client: server,
      pods,
      gate,
      leaseGate: gate,
      atMostOne: new AtMostOne(apiClaimSource(server)),
      staticGate: new FreshnessGate(clock, async () => undefined),
      machineStart: 'm',
      observers: {
        reporter: new StatusReporter({ client: server, pods, clock, logger: silentLogger }),
        usage: { observe: () => undefined },
        evictions: new Evictions({ event: () => undefined }),
        evictor: { observe: () => undefined, forget: () => undefined, run: async () => undefined },
        fence: UNFENCED,
        admission: { judge: async () => undefined, forget: () => undefined },
        probes: { timers: new TimerWheel(clock), commands: commandLimits(clock), metrics: new ProbeMetrics() },
        maxRestartDelayMs: 300_000,
      },
      volumes: new PodVolumes({
        state,
        source,
        tokens: new TokenSource(server, clock),
        persistent: new PersistentFolders({
          folder: `${state.path}/volumes`,
          node: 'n',
          source: apiClaimSource(server),
          events: { event: () => undefined },
          hostFiles: linuxHostFiles(async () => state.path),
          disks: hollowMounts().disks,
        }),
        facts,
        resolver: RESOLVER,
        clock,
        mounts: hollowMounts(),
        hostFiles: linuxHostFiles(async () => state.path),
        engine: ENGINE,
      }),
      config: source,
      configs,
      imageVolumes: new ImageVolumes(),
      imageUsers: new ImageUsers(clock),
      puller: new ImagePuller({ images: runtime.images, records: pulled, sharing: unsharedPulls, clock }),
      pulled,
      addresses: new AddressPool('10.0.0.0/24', clock, () => 0),
      events: { event: () => undefined },
      steps: new StepLog(clock, { event: () => undefined }),
      startSlots: new Slots(1),
      removals: new Slots(1),
      clock,
      random: () => 0.5,
      logger: silentLogger,
    };
    const isSilent = async () => {
      questions += 1;
      return silent;
    };
    const worker =
      kind === 'own'
        ? new PodWorker(uidOf(pods), services, () => false)
        : new CleanupWorker(uidOf(pods), { services, isSilent }, () => false);
    const stopNotifying = pods.subscribe(() => worker.notify());
    running = Promise.all([running, worker.run(stop.signal).finally(stopNotifying)]);
  };
  const states = async () => {
    const [found] = await runtime.observer.listPods({ ...OWNER });
    return [...(found?.sandboxes ?? []), ...(found?.containers ?? [])].map(({ state }) => state);
  };
  /** Lets the worker act until the condition holds. Its volumes are real folders, which take real time. */
  const until = async (isSo: () => boolean | Promise<boolean>) => {
    while (!(await isSo())) await clock.advance(10);
  };
  const isRunning = async () => (await states()).join(' ') === 'running running';

  it('starts the pod once the freshness gate is open, and not before', async () => {
    const gate = Promise.withResolvers<void>();
    confirm = () => gate.promise;
    start();
    await until(async () => looks > 0 || (await isRunning()));
    expect(await states()).toEqual([]);
    gate.resolve();
    await until(isRunning);
  });

  it('does not start a pod that ended while the gate was closed', async () => {
    // The gate reads the changes that the agent missed while it was frozen.
    confirm = async () => {
      const pod = await server.get(PODS, KEY, stop.signal);
      await server.updateStatus(PODS, { ...pod, status: { phase: 'Failed' } }, stop.signal);
      await pods.confirm(stop.signal);
    };
    const { observer } = runtime;
    const listPods = observer.listPods.bind(observer);
    let plans = 0;
    observer.listPods = (filter) => {
      plans += 1;
      return listPods(filter);
    };
    start();
    // The second plan comes after all actions of the first have ended.
    await until(() => plans > 1);
    expect(looks).toBe(1);
    expect(await readdir(folder)).toEqual([]);
  });

  it('does not start what it created beside a sandbox when the pod ended while the agent was frozen', async () => {
    const { sandboxes, containers } = runtime;
    const createSandbox = sandboxes.createSandbox.bind(sandboxes);
    const thaw = Promise.withResolvers<void>();
    sandboxes.createSandbox = async (spec, signal, created) => {
      const id = await createSandbox(spec, signal, created);
      await thaw.promise;
      return id;
    };
    const started: string[] = [];
    containers.startContainer = async (id) => void started.push(id);
    start();
    await until(async () => (await states()).includes('created'));
    confirm = async () => {
      await server.delete(PODS, KEY, { gracePeriodSeconds: 0 }, stop.signal);
      await pods.confirm(stop.signal);
    };
    await clock.advance(5_000);
    thaw.resolve();
    await until(async () => (await states()).length === 0);
    expect(looks).toBe(2);
    expect(started).toEqual([]);
  });

  it('does not start a container whose image was pulled while the agent was frozen and its pod was replaced', async () => {
    const thaw = Promise.withResolvers<void>();
    let creating = false;
    const { containers } = runtime;
    const createContainer = containers.createContainer.bind(containers);
    containers.createContainer = async (spec, signal) => {
      creating = spec.attempt > 0;
      if (creating) await thaw.promise;
      return await createContainer(spec, signal);
    };
    start();
    await until(isRunning);
    const [pod] = await runtime.observer.listPods(OWNER);
    void runtime.containers.stopContainer(pod?.containers[0]?.id ?? '', 0, stop.signal);
    const started: string[] = [];
    containers.startContainer = async (id) => void started.push(id);
    await until(async () => (await states()).join(' ') === 'running exited');
    // The worker looks, and begins to create the next attempt.
    await server.patch(PODS, KEY, { merge: { metadata: { labels: { changed: 'yes' } } } }, stop.signal);
    await until(() => creating);
    confirm = async () => {
      await server.delete(PODS, KEY, { gracePeriodSeconds: 0 }, stop.signal);
      await pods.confirm(stop.signal);
    };
    await clock.advance(5_000);
    thaw.resolve();
    await until(async () => (await states()).length === 0);
    expect(started).toEqual([]);
  });

  /** A deleted pod of a dead agent, which a custodian ends. */
  const deletedPod = async () => {
    const pod = await server.get<Pod>(PODS, KEY, stop.signal);
    await server.update<Pod>(
      PODS,
      { ...pod, metadata: { ...pod.metadata, finalizers: ['example.com/kept'] } },
      stop.signal,
    );
    await server.delete(PODS, KEY, {}, stop.signal);
    await clock.advance(100);
  };
  const proofOf = async () => {
    const pod = await server.get<Pod>(PODS, KEY, stop.signal);
    return pod.status?.conditions?.find(({ type }) => type === CONTAINERS_STOPPED)?.status;
  };

  it('removes the object of a deleted pod in place of a dead agent only in the version that has the proof', async () => {
    await deletedPod();
    const removals: unknown[] = [];
    const remove = server.delete.bind(server);
    server.delete = async (resource, key, options, signal) => {
      removals.push([options, await proofOf()]);
      return await remove(resource, key, options, signal);
    };
    start('cleanup');
    await until(() => removals.length > 0);
    const { metadata, status } = await server.get<Pod>(PODS, KEY, stop.signal);
    const { uid } = metadata;
    expect(removals).toEqual([[{ gracePeriodSeconds: 0, uid, resourceVersion: expect.any(String) }, 'True']]);
    expect(status?.phase).toBe('Failed');
  });

  // Each is found out again and again.
  it.each(['the agent is back', 'the engine has a container that no event has reported yet'])(
    'does not remove the object of a deleted pod when %s',
    async (what) => {
      await deletedPod();
      if (what === 'the agent is back') silent = false;
      const { observer } = runtime;
      const listPods = observer.listPods.bind(observer);
      let listed = 0;
      observer.listPods = async (filter) => {
        const states = await listPods(filter);
        if (filter.podUid !== undefined || what === 'the agent is back') return states;
        listed += 1;
        const identity = { ...KEY, uid: uidOf(pods) };
        return [{ owner: OWNER, identity, graceSeconds: 0, sandboxes: [], containers: [], imageHolds: [] }];
      };
      start('cleanup');
      await until(() => listed > 1 || questions > 1);
      expect(await proofOf()).toBeUndefined();
      expect((await server.get<Pod>(PODS, KEY, stop.signal)).metadata.deletionGracePeriodSeconds).not.toBe(0);
    },
  );

  it('starts nothing in place of a dead agent', async () => {
    start('cleanup');
    await clock.advance(1000);
    // The worker has not reached its gate.
    expect(looks).toBe(0);
    expect(await states()).toEqual([]);
  });
});

function uidOf(pods: PodSource): string {
  return pods.list()[0]?.metadata.uid ?? '';
}
