import { SeccompProfiles } from '../pods/seccomp-profiles.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectClient } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { type Pod, PODS } from '@gantry/objects';
import type { EventRecorder } from '@gantry/controller-runtime';
import { createLogger } from '@gantry/service';
import { expect, onTestFinished } from 'vitest';
import { hollowMounts } from '../hollow/hollow-mounts.ts';
import { type HollowBehaviour, type HollowOptions, HollowRuntime } from '../hollow/hollow-runtime.ts';
import type { NodePressure } from '../spec/node-pressure.ts';
import type { HostMounts } from '../runtime/host-mounts.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { apiConfigSource } from '../sources/api-config-source.ts';
import { ConfigWatch } from '../sources/config-watch.ts';
import { ServiceSource } from '../sources/service-source.ts';
import { PodSource } from '../sources/pod-source.ts';
import { apiClaimSource } from '../sources/api-claim-source.ts';
import { TokenSource } from '../sources/token-source.ts';
import { ImagePuller } from '../images/image-puller.ts';
import { PulledImages } from '../images/pulled-images.ts';
import { linuxHostFiles } from '../mounts/linux-host-files.ts';
import { NodePodView } from '../static-pods/node-pod-view.ts';
import { StatusReporter } from '../status/status-reporter.ts';
import { allocatable, ENGINE, RESOLVER } from './pods.ts';
import { UsageSampler } from '../usage/usage-sampler.ts';
import { PersistentFolders } from '../volumes/persistent-folders.ts';
import { PodVolumes } from '../volumes/pod-volumes.ts';
import { AddressPool } from '../pods/address-pool.ts';
import { FreshnessGate } from '../pods/freshness-gate.ts';
import { PodWorker } from '../pods/pod-worker.ts';
import { TimerWheel } from '../probes/timer-wheel.ts';
import { Evictions } from '../eviction/evictions.ts';
import { StorageEvictor } from '../eviction/storage-evictor.ts';
import { Slots } from '../pods/slots.ts';
import type { WorkerServices } from '../pods/worker-services.ts';

const IMAGE = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] };
export const OWNER = { cluster: 'c', node: 'n' };

/** What a test changes of its node. */
export interface NodeOptions {
  /** Puts itself between the agent and its runtime. */
  readonly wrap?: (runtime: HollowRuntime) => Runtime;
  readonly wrapClient?: (client: FakeObjectClient) => ObjectClient;
  /** The node before: its agent is started anew beside what it left behind. */
  readonly world?: TestNode;
  readonly behaviour?: Partial<HollowBehaviour>;
  /** What the node is short of. */
  readonly pressures?: () => readonly NodePressure[];
  /** Images that a pull can get. */
  readonly registry?: HollowOptions['registry'];
}

/** A node, and what a test does with it. */
export interface TestNode {
  readonly mounts: HostMounts;
  readonly clock: ManualClock;
  readonly client: FakeObjectClient;
  readonly pods: NodePodView;
  /** `TYPE REASON MESSAGE` of each recorded Event. */
  readonly events: readonly string[];
  readonly hollow: HollowRuntime;
  readonly runtime: Runtime;
  readonly services: WorkerServices;
  readonly evictor: StorageEvictor;
  readonly evictions: Evictions;
  readonly usage: UsageSampler;
  /** Its state folder. */
  readonly path: string;
  readonly stop: AbortController;
  /** Creates the object of a pod that is bound to this node. */
  readonly put: (pod: Pod) => Promise<Pod>;
  /** Runs a worker for a pod, which each event of the API and the runtime notifies; it may be stopped on its own. */
  readonly work: (uid: string, abort?: AbortSignal) => PodWorker;
}

/** A node whose containers are simulated, and its view of an API server. It ends with the test. */
export async function startNode(options: NodeOptions = {}): Promise<TestNode> {
  const {
    wrap = (runtime) => runtime,
    wrapClient = (client) => client,
    behaviour = {},
    registry = {},
    world,
  } = options;
  const clock = world?.clock ?? new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  const random = () => 0.5;
  const api = world?.client ?? new FakeObjectClient(clock);
  const client = wrapClient(api);
  const logger = createLogger({ service: 'agent', level: 'fatal' });
  const stop = new AbortController();
  const path = world?.path ?? (await mkdtemp(join(tmpdir(), 'pod-worker-')));
  const mounts = world?.mounts ?? hollowMounts();
  const images = { pause: IMAGE, 'nginx:1.27': IMAGE };
  const hollow = world?.hollow ?? new HollowRuntime({ clock, images, behaviour, registry });
  const runtime = wrap(hollow);
  const events: string[] = [];
  const source = new PodSource({ client, node: OWNER.node, clock, random, logger });
  const pods = new NodePodView(source);
  const reporter = new StatusReporter({ client, pods: pods.records(), clock, logger });
  const linked = new ServiceSource({ client, clock, random, logger });
  const following = Promise.all([source.run(stop.signal), linked.run(stop.signal), reporter.run(stop.signal)]);
  const working: Promise<void>[] = [];
  onTestFinished(async () => {
    stop.abort();
    await Promise.all([following, ...working]);
    await rm(path, { recursive: true, force: true });
  });
  const facts = { nodeName: OWNER.node, hostAddress: '10.0.0.1', memoryBytes: 1e9, allocatable: allocatable(2000) };
  const configSource = apiConfigSource(client);
  const configs = new ConfigWatch({ client, source: configSource, clock, random, logger });
  const state = { path, hostPath: path };
  const pulled = new PulledImages(join(path, 'images'));
  const hostFiles = linuxHostFiles(async () => path);
  const recorder: EventRecorder = {
    event: (_object, type, reason, message) => void events.push(`${type} ${reason} ${message}`),
  };
  const volumes = new PodVolumes({
    state,
    mounts,
    hostFiles,
    engine: ENGINE,
    source: configs,
    tokens: new TokenSource(client, clock),
    persistent: new PersistentFolders({
      folder: `${state.path}/volumes`,
      node: 'n',
      source: apiClaimSource(client),
      events: recorder,
    }),
    facts,
    resolver: RESOLVER,
    clock,
  });
  const usage = new UsageSampler({ stats: runtime.stats, own: undefined, clock, logger });
  const evictions = new Evictions(recorder);
  const evictor = new StorageEvictor({
    pods,
    stats: runtime.stats,
    volumes,
    hostFiles,
    evictions,
    clock,
    logger,
  });
  const services: WorkerServices = {
    mode: 'run',
    owner: OWNER,
    facts,
    resolver: RESOLVER,
    engine: ENGINE,
    privilege: 'full',
    hostFiles,
    podNetwork: 'pods',
    seccomp: new SeccompProfiles(join(path, 'seccomp')),
    processLimit: 'unlimited',
    sandboxImage: 'pause',
    baseEnvironment: {},
    services: linked,
    runtime,
    client,
    pods,
    gate: new FreshnessGate(clock, (signal) => source.confirm(signal)),
    staticGate: new FreshnessGate(clock, async () => undefined),
    reporter: {
      run: (signal) => reporter.run(signal),
      report: (uid, status) => {
        pods.remember(uid, status);
        reporter.report(uid, status);
      },
    },
    usage,
    volumes,
    evictor,
    evictions,
    pressure: { pressures: () => options.pressures?.() ?? [] },
    config: configSource,
    configs,
    puller: new ImagePuller(runtime.images, pulled, clock),
    pulled,
    addresses: new AddressPool('10.1.0.0/24', clock, random),
    events: recorder,
    starts: new Slots(1),
    removals: new Slots(1),
    maxRestartDelayMs: 300_000,
    probes: { timers: new TimerWheel(clock), execs: new Slots(4) },
    clock,
    random,
    logger,
  };
  const put = async ({ metadata, ...rest }: Pod): Promise<Pod> => {
    const { uid: _uid, resourceVersion: _version, ...others } = metadata;
    return await api.put(PODS, {
      ...rest,
      spec: { ...rest.spec, nodeName: OWNER.node } as Pod['spec'],
      metadata: others,
    });
  };
  const work = (uid: string, end: AbortSignal = stop.signal): PodWorker => {
    const abort = AbortSignal.any([stop.signal, end]);
    const worker = new PodWorker(uid, services);
    const unsubscribe = pods.subscribe((changed) => changed === uid && worker.notify());
    const unevict = evictions.subscribe((changed) => changed === uid && worker.notify());
    const unwatch = configs.subscribe((changed) => changed === uid && worker.notify());
    const watch = async () => {
      for await (const _ of hollow.observer.watch(OWNER.cluster, abort)) worker.notify();
    };
    working.push(
      worker.run(abort).finally(unsubscribe).finally(unwatch).finally(unevict),
      watch().catch(() => undefined),
    );
    return worker;
  };
  return {
    path,
    mounts,
    clock,
    client: api,
    pods,
    events,
    hollow,
    runtime,
    services,
    evictor,
    evictions,
    usage,
    stop,
    put,
    work,
  };
}

/** What a reading becomes, while time passes a little: the node also does work on real files. */
export function soon(node: Pick<TestNode, 'clock'>, read: () => unknown): ReturnType<typeof expect.poll> {
  return expect.poll(
    async () => {
      await node.clock.advance(1);
      return await read();
    },
    { interval: 1, timeout: 10_000 },
  );
}
