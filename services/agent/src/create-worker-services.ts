import { join } from 'node:path';
import { once } from 'node:events';
import { type Clock, must, raceAbort } from '@gantry/base';
import { ownServiceAddresses, type Pod, StatusError } from '@gantry/objects';
import type { AgentConfig } from './config.ts';
import type { GrpcClient, ObjectReader } from '@gantry/client';
import { createEventRecorder, type EventRecorder } from '@gantry/controller-runtime';
import type { AgentEnvironment } from './agent-environment.ts';
import type { CleanedPods } from './custodian/plan.ts';
import { ImageUsers } from './pods/image-users.ts';
import { ImageVolumes } from './pods/image-volumes.ts';
import { HostPulls } from './images/host-pulls.ts';
import { ImagePuller } from './images/image-puller.ts';
import { ImageCollector } from './images/image-collector.ts';
import { PulledImages } from './images/pulled-images.ts';
import type { HostShares } from './node/host-shares.ts';
import { expectedNode } from './node/node-object.ts';
import { NodeSource } from './sources/node-source.ts';
import type { Self } from './identity/self.ts';
import { AddressPool } from './pods/address-pool.ts';
import { FreshnessGate } from './pods/freshness-gate.ts';
import { NodeAdmission } from './pods/node-admission.ts';
import { SeccompProfiles } from './pods/seccomp-profiles.ts';
import { StepLog } from './pods/step-log.ts';
import { Slots, startSlots, commandLimits } from './pods/slots.ts';
import { ProbeMetrics } from './probes/probe-metrics.ts';
import { TimerWheel } from './probes/timer-wheel.ts';
import { AtMostOne } from './fencing/at-most-one.ts';
import { Fence } from './fencing/fence.ts';
import { Renewals } from './fencing/renewals.ts';
import { Evictions } from './eviction/evictions.ts';
import { HostTurns } from './eviction/host-turns.ts';
import { PressureManager } from './eviction/pressure-manager.ts';
import { StorageEvictor } from './eviction/storage-evictor.ts';
import type { EndServices, WorkerServices } from './pods/worker-services.ts';
import { parseResolvConf } from './spec/dns.ts';
import type { EngineInfo, EnginePrivilege } from './runtime/engine.ts';
import type { Runtime } from './runtime/runtime.ts';
import { apiConfigSource, apiClaimSource } from './sources/api-config-source.ts';
import { ConfigWatch } from './sources/config-watch.ts';
import { ServiceSource } from './sources/service-source.ts';
import { PodSource, type PodView } from './sources/pod-source.ts';
import { TokenSource } from './sources/token-source.ts';
import { apiServerVariables } from './spec/service-variables.ts';
import { isStaticUid } from './spec/static-pod.ts';
import { NodePodView } from './static-pods/node-pod-view.ts';
import { StaticFolder } from './static-pods/static-folder.ts';
import { terminationCounter } from './meters.ts';
import { StatusReporter } from './status/status-reporter.ts';
import type { HostFiles } from './runtime/host-files.ts';
import type { HostMounts } from './runtime/host-mounts.ts';
import { PersistentFolders } from './volumes/persistent-folders.ts';
import type { UsageSampler } from './usage/usage-sampler.ts';
import { PodVolumes } from './volumes/pod-volumes.ts';
import type { HostMeter } from './runtime/stats.ts';

const API_PORT = 443;

/** The runtime and the properties of its engine. */
export interface NodeRuntime {
  readonly runtime: Runtime;
  readonly engine: EngineInfo;
  readonly privilege: EnginePrivilege;
  readonly mounts: HostMounts;
  readonly hostFiles: HostFiles;
  readonly shares: HostShares;
  readonly meter: HostMeter;
}

/** `up` starts this many agents unless a setting says how many share the host. */
const USUAL_AGENTS = 2;

/**
 * How many containers this agent starts at once. All agents of the host together start as many as it has processors. A start keeps a
 * processor busy almost all the time, so with more starts at once all would end later and none earlier.
 */
function parallelStarts({ cpus }: EngineInfo, shares: number): number {
  return Math.ceil(cpus / (shares === 0 ? USUAL_AGENTS : shares));
}

/** How many containers are removed at once: at least two, since each call partly waits. */
function parallelRemovals({ cpus }: EngineInfo, shares: number): number {
  // 0 means all existing agents, whose number is not known yet.
  return Math.max(2, Math.ceil((cpus * 1.5) / Math.max(1, shares)));
}

/** The workers' services, and the services that run beside the workers. */
export type OwnServices = WorkerServices & {
  readonly volumes: PodVolumes;
  /** Only the pods of the API. */
  readonly source: PodSource;
  readonly renewals: Renewals;
  readonly steps: StepLog;
  readonly pods: NodePodView;
  readonly staticFolder: StaticFolder;
  readonly observers: WorkerServices['observers'] & { readonly evictor: StorageEvictor; readonly fence: Fence };
  readonly pressure: PressureManager;
  readonly collector: ImageCollector;
  readonly nodeSource: NodeSource;
  readonly linkedServices: ServiceSource;
};

/** The services that the workers of this node's own pods share. */
export function createWorkerServices(
  { config, machineStart, clock, random, logger, metrics }: AgentEnvironment,
  self: Self,
  parts: NodeRuntime & { readonly usage: UsageSampler; readonly resolvConf: string },
  client: GrpcClient,
  registered: Promise<void>,
): OwnServices {
  const { runtime, engine, privilege, mounts, hostFiles, shares, usage } = parts;
  const facts = {
    nodeName: self.name,
    nodeAddress: self.address,
    hostMemoryBytes: engine.memoryBytes,
    capacity: () => shares.capacity(),
    allocatable: () => shares.allocatable(),
  };
  const addresses = { nodeAddress: self.address, podCidr: config.podCidr };
  const { kubernetes, dns } = must(ownServiceAddresses(config.serviceCidr), 'a range, which the configuration checks');
  const resolver = { clusterServer: dns, engine: parseResolvConf(parts.resolvConf) };
  const source = new PodSource({ client, node: self.name, clock, random, logger });
  const pods = new NodePodView(source);
  const configSource = apiConfigSource(client);
  const configs = new ConfigWatch({ client, source: configSource, clock, random, logger });
  const images = imagesOf(self, runtime, { clock, logger });
  const steps = stepsOf(self, client, { clock, random, logger });
  const tokens = new TokenSource(client, clock);
  const persistent = persistentFolders(self, self.name, client, steps.events, parts);
  const sources = { source: configs, tokens, persistent, facts, resolver };
  const volumes = new PodVolumes({ ...sources, state: self.state, mounts, hostFiles, engine, clock });
  const { evictions, evictor, pressure, collector } = nodeEviction({ config, clock, logger }, self, parts, {
    pods,
    volumes,
    pulled: images.pulled,
    events: steps.events,
  });
  const renewals = new Renewals(clock);
  const fence = new Fence({ renewals, afterMs: config.fenceAfterSeconds * 1000 || Infinity, clock, logger });
  const initial = () => expectedNode({ ...self, engine, registration: config.registration }, shares);
  const nodeSource = new NodeSource({ client, node: self.name, initial });
  const onPods = (found: readonly Pod[]) => pods.replaceFiles(found);
  const staticFolder = new StaticFolder({ ...staticPodsOf(config, self), onPods, events: steps.events, clock, logger });
  const onWritten = terminationCounter(metrics);
  return {
    owner: { cluster: config.clusterId, node: self.name },
    machineStart,
    facts,
    resolver,
    engine,
    privilege,
    hostFiles,
    podNetwork: config.podNetwork,
    seccomp: new SeccompProfiles(config.seccompDir || join(self.shared.path, 'seccomp')),
    ...limitsOf(config, engine, clock),
    sandboxImage: config.sandboxImage,
    linkedServices: new ServiceSource({ client, clock, random, logger }),
    baseEnvironment: apiServerVariables(kubernetes, API_PORT),
    runtime,
    client,
    pods,
    source,
    steps,
    staticFolder,
    ...gatesOf({ registered, source, staticFolder, renewals }, clock),
    atMostOne: new AtMostOne(apiClaimSource(client)),
    renewals,
    observers: {
      reporter: reporting(pods, new StatusReporter({ client, pods: pods.records(), clock, logger, onWritten })),
      usage,
      evictor,
      evictions,
      fence,
      admission: new NodeAdmission({ pods, node: nodeSource, engine, addresses, evictions, pressure }),
      probes: { timers: new TimerWheel(clock), commands: commandLimits(clock), metrics: new ProbeMetrics() },
      maxRestartDelayMs: config.maxRestartDelaySeconds * 1000,
    },
    volumes,
    pressure,
    collector,
    nodeSource,
    config: configSource,
    configs,
    imageVolumes: new ImageVolumes(),
    imageUsers: new ImageUsers(clock),
    ...images,
    addresses: new AddressPool(config.podCidr, clock, random),
    events: steps.events,
    clock,
    random,
    logger,
  };
}

/** The records of pulled images of this host, and the puller for all of its nodes. */
function imagesOf(
  { shared, name }: Self,
  { images }: Runtime,
  { clock, logger }: Pick<AgentEnvironment, 'clock' | 'logger'>,
): Pick<WorkerServices, 'puller'> & { readonly pulled: PulledImages } {
  const folder = join(shared.path, 'images');
  const pulled = new PulledImages(folder, name);
  const sharing = new HostPulls({ folder: join(folder, 'pulls'), clock, logger });
  return { puller: new ImagePuller({ images, records: pulled, sharing, clock }), pulled };
}

/** The limits of a node's parallel work and of a single container. */
function limitsOf(
  config: AgentConfig,
  engine: EngineInfo,
  clock: Clock,
): Pick<WorkerServices, 'processLimit' | 'startSlots' | 'removals'> {
  return {
    processLimit: config.processLimit,
    startSlots: startSlots(parallelStarts(engine, config.capacityShares), clock),
    removals: new Slots(parallelRemovals(engine, config.capacityShares)),
  };
}

interface Gated {
  readonly registered: Promise<void>;
  readonly source: PodSource;
  readonly staticFolder: StaticFolder;
  readonly renewals: Renewals;
}

function gatesOf(
  { registered, source, staticFolder, renewals }: Gated,
  clock: Clock,
): Pick<WorkerServices, 'gate' | 'leaseGate' | 'staticGate'> {
  // Only a registered node runs pods of the API: before that, another agent may have its name.
  const confirm = async (signal: AbortSignal) => {
    await raceAbort(registered, signal);
    await source.confirm(signal);
  };
  const confirmHeld = async (signal: AbortSignal) => {
    await renewals.untilHeld(signal);
    await confirm(signal);
  };
  return {
    gate: new FreshnessGate(clock, confirm),
    leaseGate: new FreshnessGate(clock, confirmHeld, () => renewals.tenure()),
    staticGate: new FreshnessGate(clock, () => staticFolder.read()),
  };
}

function staticPodsOf({ staticPodDir }: AgentConfig, { name, state }: Self) {
  return { node: name, folder: staticPodDir === '' ? join(state.path, 'static-pods') : staticPodDir };
}

/** Reports the status of pods. The status of a static pod is also remembered, because it may have no mirror in the API. */
function reporting(pods: NodePodView, reporter: StatusReporter): WorkerServices['observers']['reporter'] {
  return {
    run: (signal) => reporter.run(signal),
    report: (uid, status) => {
      pods.remember(uid, status);
      reporter.report(uid, status);
    },
  };
}

/** The components that handle node pressure and storage limits. */
function nodeEviction(
  { config, clock, logger }: Pick<AgentEnvironment, 'config' | 'clock' | 'logger'>,
  self: Self,
  parts: Pick<NodeRuntime, 'runtime' | 'hostFiles' | 'shares' | 'meter'> & { readonly usage: UsageSampler },
  found: Pick<OwnServices, 'pods' | 'volumes' | 'pulled' | 'events'>,
): Pick<OwnServices, 'pressure' | 'collector'> & { readonly evictions: Evictions; readonly evictor: StorageEvictor } {
  const { runtime, hostFiles, shares, meter, usage } = parts;
  const { pods, volumes, pulled, events } = found;
  const common = { node: self.name, events, clock, logger };
  const evictions = new Evictions(events);
  const evictor = new StorageEvictor({ pods, stats: runtime.stats, volumes, hostFiles, evictions, clock, logger });
  const { sandboxImage, imageCollection } = config;
  const images = { images: runtime.images, pulled, meter, sandboxImage };
  const collector = new ImageCollector({ ...common, ...imageCollection, ...images });
  const turns = new HostTurns(join(self.shared.path, 'nodes'), self.name, clock);
  const watched = { meter, shares, usage, storage: evictor, images: collector, pods, evictions, turns };
  const pressure = new PressureManager({ ...common, ...config.eviction, ...watched });
  return { evictions, evictor, pressure, collector };
}

/** The services that end another node's pods: that node's pods and folders, and otherwise this node's services. */
export function createCleanupServices(
  services: WorkerServices,
  self: Self,
  client: GrpcClient,
  mounts: HostMounts,
  { node, object, pods: cleaned }: CleanedPods,
): EndServices & { readonly source: PodSource } {
  const { machineStart, clock, random, logger } = services;
  const podSource = new PodSource({ client: object === 'present' ? client : NO_PODS, node, clock, random, logger });
  const pods = onlyThose(podSource, (uid) => isStaticUid(uid) === (cleaned === 'static'));
  const folder = (shared: string) => join(shared, 'nodes', node);
  const state = { path: folder(self.shared.path), hostPath: folder(self.shared.hostPath) };
  const { config: source, facts, resolver, hostFiles, engine, runtime, addresses, events, steps, removals } = services;
  return {
    machineStart,
    facts,
    runtime,
    client,
    addresses,
    events,
    steps,
    removals,
    clock,
    random,
    logger,
    owner: { cluster: services.owner.cluster, node },
    pods,
    source: podSource,
    gate: new FreshnessGate(clock, (abort) => podSource.confirm(abort)),
    staticGate: new FreshnessGate(clock, (abort) => podSource.confirm(abort)),
    volumes: new PodVolumes({
      state,
      mounts,
      hostFiles,
      engine,
      source,
      tokens: new TokenSource(client, clock),
      persistent: persistentFolders(self, node, client, services.events, { hostFiles, mounts }),
      facts,
      resolver,
      clock,
    }),
  };
}

/** The log of what the workers do, with their Events, which are the kubelet's. */
function stepsOf(
  { name: host }: Self,
  client: GrpcClient,
  { clock, random, logger: log }: Pick<AgentEnvironment, 'clock' | 'random' | 'logger'>,
): StepLog {
  return new StepLog(clock, createEventRecorder({ client, component: 'kubelet', host, clock, random, log }));
}

/** Restricts a source to pods with certain uids; other pods are not touched. */
function onlyThose(pods: PodSource, knows: PodView['knows']): PodView {
  return {
    knows,
    get: (uid) => pods.get(uid),
    list: () => pods.list(),
    subscribe: (listener) => pods.subscribe(listener),
  };
}

/** Beside the folders of nodes, so that they stay when a node is removed. An agent of the same name finds them again. */
function persistentFolders(
  { shared }: Self,
  node: string,
  client: GrpcClient,
  events: EventRecorder,
  { hostFiles, mounts: { disks } }: Pick<NodeRuntime, 'hostFiles' | 'mounts'>,
): PersistentFolders {
  const folder = join(shared.path, 'volumes', node);
  return new PersistentFolders({ folder, node, source: apiClaimSource(client), events, hostFiles, disks });
}

/** An empty source for a node without a Node object. Its containers then belong to deleted pods. */
const NO_PODS: ObjectReader = {
  get: (resource, key) => Promise.reject(StatusError.notFound(resource, key.name)),
  list: () => Promise.resolve({ items: [], resourceVersion: '1', continueToken: '' }),
  async *watch(_resource, _options, signal) {
    if (!signal.aborted) await once(signal, 'abort');
    signal.throwIfAborted();
    yield [];
  },
};
