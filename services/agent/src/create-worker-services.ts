import { join } from 'node:path';
import type { GrpcClient } from '@gantry/client';
import { createEventRecorder } from '@gantry/controller-runtime';
import type { AgentEnvironment } from './agent-environment.ts';
import { NO_PODS } from './custodian/no-pods.ts';
import { ImagePuller } from './images/image-puller.ts';
import { PulledImages } from './images/pulled-images.ts';
import type { HostShares } from './node/host-shares.ts';
import type { Self } from './identity/self.ts';
import { AddressPool } from './pods/address-pool.ts';
import { FreshnessGate } from './pods/freshness-gate.ts';
import { Slots } from './pods/slots.ts';
import { TimerWheel } from './probes/timer-wheel.ts';
import { Evictions } from './eviction/evictions.ts';
import { HostTurns } from './eviction/host-turns.ts';
import { PressureManager } from './eviction/pressure-manager.ts';
import { StorageEvictor } from './eviction/storage-evictor.ts';
import type { WorkerServices } from './pods/worker-services.ts';
import { clusterDnsAddress, parseResolvConf } from './spec/dns.ts';
import type { EngineInfo, EnginePrivilege } from './runtime/engine.ts';
import type { Runtime } from './runtime/runtime.ts';
import { apiClaimSource } from './sources/api-claim-source.ts';
import { apiConfigSource } from './sources/api-config-source.ts';
import { ConfigWatch } from './sources/config-watch.ts';
import { ServiceSource } from './sources/service-source.ts';
import { PodSource } from './sources/pod-source.ts';
import { TokenSource } from './sources/token-source.ts';
import { apiServerVariables, firstServiceAddress } from './spec/service-variables.ts';
import { StatusReporter } from './status/status-reporter.ts';
import type { HostMeter } from './runtime/host-meter.ts';
import type { HostFiles } from './runtime/host-files.ts';
import type { HostMounts } from './runtime/host-mounts.ts';
import { PersistentFolders } from './volumes/persistent-folders.ts';
import type { UsageSampler } from './usage/usage-sampler.ts';
import { PodVolumes } from './volumes/pod-volumes.ts';

const PARALLEL_EXEC_PROBES = 4;
const API_PORT = 443;

/** The runtime and what was found out about its engine. */
export interface NodeRuntime {
  readonly runtime: Runtime;
  readonly engine: EngineInfo;
  readonly privilege: EnginePrivilege;
  readonly mounts: HostMounts;
  readonly hostFiles: HostFiles;
  readonly shares: HostShares;
  readonly meter: HostMeter;
}

/**
 * How many containers are started, and how many removed, at once. It is work of the engine's host: more at once than it has processors
 * are all done later, and none sooner. Two at least, since a part of each call is waiting.
 */
function parallelCalls({ cpus }: EngineInfo, shares: number): number {
  // 0: as many as there are, which is not known yet.
  return Math.max(2, Math.ceil((cpus * 1.5) / Math.max(1, shares)));
}

/** With what runs beside the workers. */
export type NodeServices = WorkerServices & { readonly pods: PodSource; readonly volumes: PodVolumes };

/** The services that the workers of this node's own pods share. */
export function createWorkerServices(
  { config, clock, random, logger }: AgentEnvironment,
  self: Self,
  {
    runtime,
    engine,
    privilege,
    mounts,
    hostFiles,
    shares,
    meter,
    usage,
    resolvConf,
  }: NodeRuntime & { readonly usage: UsageSampler; readonly resolvConf: string },
  client: GrpcClient,
): NodeServices & { readonly pressure: PressureManager } {
  const facts = {
    nodeName: self.name,
    hostAddress: self.address,
    memoryBytes: engine.memoryBytes,
    allocatable: () => shares.allocatable(),
  };
  const resolver = {
    clusterServer: clusterDnsAddress(config.serviceCidr),
    engine: parseResolvConf(resolvConf),
  };
  const pods = new PodSource({ client, node: self.name, clock, random, logger });
  const source = apiConfigSource(client);
  const configs = new ConfigWatch({ client, source, clock, random, logger });
  const pulled = new PulledImages(join(self.shared.path, 'images'));
  const volumes = new PodVolumes({
    state: self.state,
    mounts,
    hostFiles,
    engine,
    source: configs,
    tokens: new TokenSource(client, clock),
    persistent: persistentFolders(self, self.name, client),
    facts,
    resolver,
    clock,
  });
  const events = createEventRecorder({ client, component: 'kubelet', host: self.name, clock, random, log: logger });
  const evictions = new Evictions(events);
  const evictor = new StorageEvictor({ pods, stats: runtime.stats, volumes, hostFiles, evictions, clock, logger });
  const turns = new HostTurns(join(self.shared.path, 'nodes'), self.name, clock);
  const watched = { meter, shares, usage, storage: evictor, pods, evictions, turns, events };
  const pressure = new PressureManager({ ...config.eviction, ...watched, node: self.name, clock, logger });
  return {
    mode: 'run',
    owner: { cluster: config.clusterId, node: self.name },
    facts,
    resolver,
    engine,
    privilege,
    hostFiles,
    podNetwork: config.podNetwork,
    sandboxImage: config.sandboxImage,
    services: new ServiceSource({ client, clock, random, logger }),
    baseEnvironment: apiServerVariables(firstServiceAddress(config.serviceCidr), API_PORT),
    runtime,
    client,
    pods,
    gate: new FreshnessGate(clock, (signal) => pods.confirm(signal)),
    reporter: new StatusReporter({ client, pods, clock, logger }),
    usage,
    volumes,
    evictions,
    evictor,
    pressure,
    config: source,
    configs,
    puller: new ImagePuller(runtime.images, pulled, clock),
    pulled,
    addresses: new AddressPool(config.podCidr, clock, random),
    events,
    starts: new Slots(parallelCalls(engine, config.capacityShares)),
    removals: new Slots(parallelCalls(engine, config.capacityShares)),
    probes: { timers: new TimerWheel(clock), execs: new Slots(PARALLEL_EXEC_PROBES) },
    maxRestartDelayMs: config.maxRestartDelaySeconds * 1000,
    clock,
    random,
    logger,
  };
}

/** Services that clean up another node's pods: with that node's pods and folders, otherwise this node's services. */
export function createCleanupServices(
  services: WorkerServices,
  self: Self,
  client: GrpcClient,
  mounts: HostMounts,
  { node, object }: { readonly node: string; readonly object: 'present' | 'absent' },
): NodeServices {
  const { clock, random, logger } = services;
  const pods = new PodSource({ client: object === 'present' ? client : NO_PODS, node, clock, random, logger });
  const folder = (shared: string) => join(shared, 'nodes', node);
  const state = { path: folder(self.shared.path), hostPath: folder(self.shared.hostPath) };
  const { config: source, facts, resolver, hostFiles, engine } = services;
  return {
    ...services,
    mode: 'cleanup',
    owner: { cluster: services.owner.cluster, node },
    pods,
    gate: new FreshnessGate(clock, (abort) => pods.confirm(abort)),
    volumes: new PodVolumes({
      state,
      mounts,
      hostFiles,
      engine,
      source,
      tokens: new TokenSource(client, clock),
      persistent: persistentFolders(self, node, client),
      facts,
      resolver,
      clock,
    }),
  };
}

/** Beside the folders of nodes, so that they stay when a node is removed: an agent of the same name finds them again. */
function persistentFolders({ shared }: Self, node: string, client: GrpcClient): PersistentFolders {
  return new PersistentFolders({ folder: join(shared.path, 'volumes', node), node, source: apiClaimSource(client) });
}
