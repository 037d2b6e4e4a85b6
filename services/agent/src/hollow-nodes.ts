import { SeccompProfiles } from './pods/seccomp-profiles.ts';
import { createHash } from 'node:crypto';
import type { Clock, Random } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import { createEventRecorder } from '@gantry/controller-runtime';
import type { Container, Pod } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import { HollowRuntime } from './hollow/hollow-runtime.ts';
import { ImageUsers } from './pods/image-users.ts';
import { ImageVolumes } from './pods/image-volumes.ts';
import { unsharedPulls } from './images/host-pulls.ts';
import { ImagePuller } from './images/image-puller.ts';
import { PulledImages } from './images/pulled-images.ts';
import { Heartbeat } from './node/heartbeat.ts';
import { HostShares } from './node/host-shares.ts';
import { expectedNode } from './node/node-object.ts';
import { PLAIN_REGISTRATION } from './node/registration.ts';
import { NodeStatusManager, ImageList } from './node/node-status-manager.ts';
import { NodeSource } from './sources/node-source.ts';
import { AddressPool } from './pods/address-pool.ts';
import { Evictions } from './eviction/evictions.ts';
import { FreshnessGate } from './pods/freshness-gate.ts';
import { NodeAdmission } from './pods/node-admission.ts';
import { ownWorkers, PodManager } from './pods/pod-manager.ts';
import { Slots, commandLimits } from './pods/slots.ts';
import { StepLog } from './pods/step-log.ts';
import type { PodObservers, StartServices, WorkerServices } from './pods/worker-services.ts';
import { ProbeMetrics } from './probes/probe-metrics.ts';
import { TimerWheel } from './probes/timer-wheel.ts';
import { runTogether } from './run-together.ts';
import type { EngineInfo } from './runtime/engine.ts';
import { apiClaimSource, apiConfigSource } from './sources/api-config-source.ts';
import { AtMostOne } from './fencing/at-most-one.ts';
import { UNFENCED } from './fencing/fence.ts';
import { PodSource } from './sources/pod-source.ts';
import { PodsByNode } from './sources/pods-by-node.ts';
import { ServiceSource } from './sources/service-source.ts';
import { StatusReporter } from './status/status-reporter.ts';

/** The settings of the simulated nodes. */
export interface HollowNodesOptions {
  /** Has the rights of all agents, for every node. */
  readonly client: ObjectClient;
  readonly count: number;
  /** Nodes are named `<prefix>-1`, `<prefix>-2`, ... */
  readonly prefix: string;
  /** The time between two renewals of a node's Lease. */
  readonly heartbeatMs: number;
  /** The folder for the records of pulls. */
  readonly folder: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const CLUSTER = 'hollow';
const STORAGE_BYTES = 2 ** 37;
const NOTHING_RESERVED = { cpuMillis: 0, memoryBytes: 0, storageBytes: 0 };
/** Unused, because no pod resolves names. */
const RESOLVER = { clusterServer: '100.64.0.10', engine: { servers: [], searches: [], options: [] } };
/** Shared address space (RFC 6598), which no network of a cluster uses. */
const POD_CIDR = '100.64.0.0/10';
/** A documentation address (RFC 5737), at which nothing responds. */
const NODE_ADDRESS = '192.0.2.1';
/** Chosen so that no host port is forwarded or refused. */
const ADDRESSES = { nodeAddress: NODE_ADDRESS, podCidr: '' };
const IMAGE = {
  id: `sha256:${createHash('sha256').update('hollow').digest('hex')}`,
  sizeBytes: 1,
  digests: [],
  user: '',
  labels: [],
};
const RUNTIME = { startMs: 10, createMs: 5 };
/** The number of nodes that register at the same time. */
const PARALLEL_REGISTRATIONS = 16;
/** A node's object is checked once in this many heartbeats. */
const HEARTBEATS_PER_CHECK = 5;
const MAX_RESTART_DELAY_MS = 300_000;
/** More than a real engine would start at once, because these calls do no work. */
const PARALLEL_CALLS = 64;

/** The services that all nodes of the process share. */
interface Shared extends Omit<StartServices, 'owner' | 'facts' | 'runtime' | 'pods'> {
  readonly observers: Omit<PodObservers, 'admission'> & { readonly evictions: Evictions };
}

/**
 * Simulates `count` nodes until `signal` is aborted: with an agent's workers, status reports and heartbeats, on runtimes without
 * containers. All nodes share one watch of pods, one reporter and one recorder of Events. Every image exists; volumes are not filled;
 * probes and hooks are not run. Each node has its own runtime, so that its lists are short.
 */
export async function runHollowNodes(options: HollowNodesOptions, signal: AbortSignal): Promise<void> {
  const { client, count, prefix, clock, random, logger } = options;
  const source = new PodSource({ client, clock, random, logger });
  const byNode = new PodsByNode(source, withoutProbes);
  const reporter = new StatusReporter({ client, pods: source, clock, logger });
  const engine = await new HollowRuntime({ clock, images: {} }).engine.info();
  const services = sharedServices(
    options,
    engine,
    reporter,
    new FreshnessGate(clock, (abort) => source.confirm(abort)),
  );
  const registrations = new Slots(PARALLEL_REGISTRATIONS);
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
  await runTogether(
    [
      (abort) => source.run(abort),
      (abort) => services.linkedServices.run(abort),
      (abort) => reporter.run(abort),
      (abort) => services.gate.run(abort),
      ...names.map((name) => async (abort: AbortSignal) => {
        const owner = { cluster: CLUSTER, node: name };
        const runtime = new HollowRuntime({ clock, images: {}, anyImage: IMAGE, behaviour: RUNTIME });
        const shares = new HostShares({ ...engine, storageBytes: STORAGE_BYTES }, NOTHING_RESERVED, 1);
        const facts = {
          nodeName: name,
          nodeAddress: NODE_ADDRESS,
          hostMemoryBytes: engine.memoryBytes,
          capacity: () => shares.capacity(),
          allocatable: () => shares.allocatable(),
        };
        const initial = () =>
          expectedNode({ name, engineName: name, engine, registration: PLAIN_REGISTRATION }, shares);
        const view = new NodeSource({ client, node: name, initial });
        const node = nodeStatusManager(options, name, engine, { shares, view });
        const pods = byNode.of(name);
        const pressure = { pressures: () => [] };
        const { evictions } = services.observers;
        const admission = new NodeAdmission({ pods, node: view, engine, addresses: ADDRESSES, pressure, evictions });
        await registrations.use(() => node.register(abort), abort);
        const observers = { ...services.observers, admission };
        await runNode(options, { ...services, owner, facts, runtime, pods, observers }, { node, view }, abort);
      }),
    ],
    signal,
  );
}

async function runNode(
  { client, heartbeatMs, clock, logger }: HollowNodesOptions,
  services: WorkerServices,
  { node, view }: { readonly node: NodeStatusManager; readonly view: NodeSource },
  signal: AbortSignal,
): Promise<void> {
  const check = () => node.checkNow();
  const heartbeat = new Heartbeat({
    client,
    node: services.owner.node,
    nodeUid: () => view.known().metadata.uid,
    clock,
    logger,
    intervalMs: heartbeatMs,
    onNodeGone: check,
    onRecovered: check,
  });
  await runTogether(
    [
      (abort) => heartbeat.run(abort),
      (abort) => node.run(abort),
      (abort) => new PodManager(services, ownWorkers(services)).run(abort),
    ],
    signal,
  );
}

function nodeStatusManager(
  { client, heartbeatMs, clock, logger }: HollowNodesOptions,
  name: string,
  engine: EngineInfo,
  { shares, view }: { readonly shares: HostShares; readonly view: NodeSource },
): NodeStatusManager {
  const ids = { machine: name, boot: name, system: name };
  return new NodeStatusManager({
    client,
    engine: { info: async () => engine, ping: async () => undefined, probe: async () => 'full' },
    observation: {
      name,
      // Each node has its own engine, because agents of one engine list each other.
      engineName: name,
      address: NODE_ADDRESS,
      gatewayAddress: undefined,
      hostAddress: '',
      forwardedFrom: '',
      engine,
      privilege: 'full',
      registration: PLAIN_REGISTRATION,
      ids,
    },
    shares,
    view,
    pressures: () => [],
    images: new ImageList(new HollowRuntime({ clock, images: {} }).images, clock, logger),
    clock,
    logger,
    checkMs: heartbeatMs * HEARTBEATS_PER_CHECK,
  });
}

function sharedServices(
  { client, folder, clock, random, logger }: HollowNodesOptions,
  engine: EngineInfo,
  reporter: StatusReporter,
  gate: FreshnessGate,
): Shared {
  const recorder = createEventRecorder({ client, component: 'kubelet', host: CLUSTER, clock, random, log: logger });
  const steps = new StepLog(clock, recorder);
  const pulled = new PulledImages(folder, 'hollow');
  const { images } = new HollowRuntime({ clock, images: {}, anyImage: IMAGE });
  return {
    // There are no static pods.
    staticGate: gate,
    leaseGate: gate,
    atMostOne: new AtMostOne(apiClaimSource(client)),
    engine,
    privilege: 'full',
    hostFiles: {
      kindOf: async () => undefined,
      makeFolder: async () => undefined,
      makeFile: async () => undefined,
      usageOf: async () => ({ bytes: 0, inodes: 0 }),
      open: async () => undefined,
      giveToGroup: async () => undefined,
    },
    podNetwork: 'pods',
    seccomp: new SeccompProfiles('/nonexistent'),
    processLimit: 'unlimited',
    sandboxImage: 'pause',
    baseEnvironment: {},
    client,
    gate,
    volumes: {
      sync: async () => undefined,
      mounts: async () => ({
        mounts: [],
        devices: [],
        terminationMessagePath: '',
        [Symbol.asyncDispose]: async () => undefined,
      }),
      imageFolder: async () => ({ hostPath: '', state: 'mounted' }),
      text: async () => undefined,
      terminationMessage: async () => '',
      end: () => undefined,
      release: async () => undefined,
      // No agent comes after this process.
      readRecord: async () => '',
      writeRecord: async () => undefined,
    },
    config: apiConfigSource(client),
    linkedServices: new ServiceSource({ client, clock, random, logger }),
    // Volumes have no content to watch.
    configs: { follow: () => undefined, changesOf: () => 0, subscribe: () => () => undefined },
    imageVolumes: new ImageVolumes(),
    imageUsers: new ImageUsers(clock),
    puller: new ImagePuller({ images, records: pulled, sharing: unsharedPulls, clock }),
    pulled,
    resolver: RESOLVER,
    addresses: new AddressPool(POD_CIDR, clock, random),
    events: steps.events,
    steps,
    startSlots: new Slots(PARALLEL_CALLS),
    removals: new Slots(PARALLEL_CALLS),
    machineStart: 'm',
    observers: {
      reporter,
      // Containers use no resources and write nothing.
      usage: { observe: () => undefined },
      evictions: new Evictions({ event: () => undefined }),
      fence: UNFENCED,
      evictor: { observe: () => undefined, forget: () => undefined, run: async () => undefined },
      probes: { timers: new TimerWheel(clock), commands: commandLimits(clock), metrics: new ProbeMetrics() },
      maxRestartDelayMs: MAX_RESTART_DELAY_MS,
    },
    clock,
    random,
    logger,
  };
}

/** A pod without probes and hooks, since there are no processes to respond. */
function withoutProbes(pod: Pod): Pod {
  if (pod.spec === undefined) return pod;
  const strip = (container: Container) =>
    omit(container, ['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle']);
  const { containers, initContainers } = pod.spec;
  const spec = { ...pod.spec, containers: containers.map(strip), initContainers: initContainers?.map(strip) };
  return { ...pod, spec };
}

function omit(container: Container, names: readonly (keyof Container)[]): Container {
  const kept = Object.entries(container).filter(([name]) => !names.some((omitted) => omitted === name));
  return Object.fromEntries(kept) as Container;
}
