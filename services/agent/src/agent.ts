import { join } from 'node:path';
import { readFile, statfs } from 'node:fs/promises';
import { errorMessage, lead } from '@gantry/base';
import { createGrpcClient, type GrpcClient } from '@gantry/client';
import { createEventRecorder } from '@gantry/controller-runtime';
import type { GroupMember } from '@gantry/service';
import { openTlsFolder } from '@gantry/tls';
import type { AgentConfig } from './config.ts';
import type { AgentEnvironment } from './agent-environment.ts';
import {
  createCleanupServices,
  createWorkerServices,
  type NodeRuntime,
  type OwnServices,
} from './create-worker-services.ts';
import { Custodian } from './custodian/custodian.ts';
import { ForwarderKeeper, isForwarding, LOOPBACK } from './forwarders/forwarder-keeper.ts';
import { LeaseElection } from './custodian/lease-election.ts';
import type { DockerRuntime } from './docker/docker-runtime.ts';
import { bootstrapRequester } from './identity/bootstrap-client.ts';
import { NodeCertificate } from './identity/node-certificate.ts';
import { findSelf, type Self } from './identity/self.ts';
import { enginePrivilege } from './node/engine-privilege.ts';
import { hostMountNamespace, hostNetwork, hostRoot, linuxHostFiles } from './mounts/linux-host-files.ts';
import { checkPropagation, linuxMounts } from './mounts/linux-mounts.ts';
import { Heartbeat } from './node/heartbeat.ts';
import { HostShares } from './node/host-shares.ts';
import { NodeStatusManager, ImageList } from './node/node-status-manager.ts';
import { ownWorkers, PodManager } from './pods/pod-manager.ts';
import type { EngineInfo, EnginePrivilege } from './runtime/engine.ts';
import type { HostMounts } from './runtime/host-mounts.ts';
import { linuxHostMeter } from './usage/linux-host-meter.ts';
import { UsageSampler } from './usage/usage-sampler.ts';
import { killLeftoverCommands } from './streams/leftover-commands.ts';
import { type Part, runTogether } from './run-together.ts';
import { MirrorPods } from './static-pods/mirror-pods.ts';
import { VolumeReclaimer } from './volumes/volume-reclaimer.ts';
import { serveAgent } from './agent-server.ts';
import { readHostIds } from './node/node-object.ts';
import type { Runtime } from './runtime/runtime.ts';
import type { NodePodView } from './static-pods/node-pod-view.ts';

/** The member of an agent's process that runs the node. Each step of its start needs the results of earlier ones. */
export function agentMember(environment: AgentEnvironment): GroupMember {
  return { name: 'agent', run: (signal) => runAgent(environment, signal) };
}

async function runAgent(environment: AgentEnvironment, signal: AbortSignal): Promise<void> {
  try {
    await start(environment, signal);
  } catch (error) {
    // The agent was stopped during its start, so nothing is left to do.
    if (!signal.aborted) throw error;
  }
}

async function start(environment: AgentEnvironment, signal: AbortSignal): Promise<void> {
  const { config, clock, random, logger } = environment;
  let privilege: EnginePrivilege = 'no-sys-resource';
  const runtime = environment.connect(() => privilege);
  const found = await runtime.engine.info(signal);
  const engine = config.hostName === '' ? found : { ...found, name: config.hostName };
  const self = await findSelf(config, engine, runtime.agents, signal);
  const hostFiles = linuxHostFiles(self.container === undefined ? async () => '/' : hostRoot);
  const onHost = { findNetwork: hostNetwork, mounts: { find: hostMountNamespace, shared: self.shared } };
  const mounts = linuxMounts(self.container === undefined ? undefined : onHost);
  const owner = { cluster: config.clusterId, node: self.name };
  logger.info({ node: self.name, engine: engine.id, version: engine.version, address: self.address }, 'agent starts');
  if (self.container !== undefined) await checkPropagation(self.shared.path);
  privilege = await enginePrivilege(self.state.path, engine, { runtime, image: config.sandboxImage, owner }, signal);

  const certificates = certificatesOf(self, environment);
  const bootstrap = bootstrapRequester(config, clock, random);
  await certificates.client.ensure(bootstrap, signal);
  using tls = await openTlsFolder(join(config.keyDir, 'client'), { clock, logger }, signal);
  using client = createGrpcClient({ addresses: config.apiservers, tls, fieldManager: 'kubelet', clock, random });

  const usage = new UsageSampler({ stats: runtime.stats, own: self.container?.id, clock, logger });
  const shares = await hostShares(config, engine, self);
  const meter = linuxHostMeter('/proc', self.shared.path);
  const parts = { runtime, engine, privilege, mounts, hostFiles, shares, meter };
  // In a container, this file contains the engine's resolver and the host's search domains.
  const resolvConf = await readFile('/etc/resolv.conf', 'utf8');
  const registered = Promise.withResolvers<void>();
  const services = createWorkerServices(environment, self, { ...parts, usage, resolvConf }, client, registered.promise);
  await services.volumes.prepare();
  const node = await nodeStatusManager(environment, self, parts, services, client);
  services.pressure.subscribe(() => node.checkNow());
  const manager = new PodManager(services, ownWorkers(services));
  const registeredNode = { self, parts, services, node, client, certificates, usage, active: manager };
  // Read the static pods before listing the engine, so that the first list finds pods whose files are gone.
  await services.staticFolder.read().catch((error: unknown) => {
    logger.warn({ reason: errorMessage(error) }, 'cannot read the folder of static pods');
  });
  // The last part needs a registered Node; static pods do not.
  await runTogether(
    [
      (abort) => services.gate.run(abort),
      (abort) => services.leaseGate.run(abort),
      (abort) => services.observers.fence.run(abort),
      (abort) => services.staticFolder.run(abort),
      (abort) => services.observers.evictor.run(abort),
      (abort) => services.pressure.run(abort),
      (abort) => services.observers.reporter.run(abort),
      (abort) => manager.run(abort),
      (abort) => usage.run(abort),
      (abort) => killLeftoverCommands(runtime, owner, logger, abort),
      async (abort) => {
        await node.register(abort);
        registered.resolve();
        await runTogether(registeredParts(environment, registeredNode), abort);
      },
    ],
    signal,
  );
}

interface RegisteredNode {
  readonly self: Self;
  readonly parts: NodeRuntime & { readonly runtime: DockerRuntime };
  readonly services: OwnServices;
  readonly node: NodeStatusManager;
  readonly client: GrpcClient;
  readonly certificates: ReturnType<typeof certificatesOf>;
  readonly usage: UsageSampler;
  readonly active: PodManager;
}

/** The parts of a node that run once it is registered. */
function registeredParts(
  environment: AgentEnvironment,
  {
    self,
    parts: { runtime, engine, mounts, meter },
    services,
    node,
    client,
    certificates,
    usage,
    active,
  }: RegisteredNode,
): readonly Part[] {
  const { clock, random, logger } = environment;
  const { pods, source } = services;
  const heartbeat = new Heartbeat({
    client,
    node: self.name,
    nodeUid: () => services.nodeSource.known().metadata.uid,
    clock,
    logger,
    onRenewed: (sentMs) => services.renewals.renewed(sentMs),
    onNodeGone: () => node.checkNow(),
    onRecovered: () => node.checkNow(),
  });
  const mirrors = new MirrorPods({ client, node: self.name, pods, active, clock, random, logger });
  const folders = services.volumes.persistent;
  const reclaimer = new VolumeReclaimer({ ...services, pods: source, node: self.name, folders, mounts });
  const requester = () => Promise.resolve(withoutDispose(client));
  const storage = services.observers.evictor;
  const probes = services.observers.probes.metrics;
  const { steps } = services;
  const served = {
    self,
    runtime: asRecorded(runtime, pods),
    engine,
    usage,
    meter,
    storage,
    probes,
    pods,
    client,
    steps,
  };
  return [
    (abort) => heartbeat.run(abort),
    (abort) => node.run(abort),
    (abort) => source.run(abort),
    (abort) => services.linkedServices.run(abort),
    (abort) => mirrors.run(abort),
    (abort) => reclaimer.run(abort),
    (abort) => runCustodian(environment, { self, engine, runtime, services, client, mounts }, abort),
    (abort) => certificates.client.renew(requester, abort),
    (abort) => serveAgent(environment, served, { certificate: certificates.serving, requester }, abort),
  ];
}

function certificatesOf(self: Self, { config, clock, random, logger }: AgentEnvironment) {
  const readAuthority = () => readFile(join(config.bootstrapDir, 'ca.crt'));
  const create = (use: 'client' | 'serving') =>
    new NodeCertificate({
      node: self.name,
      engine: self.engineName,
      use,
      folder: join(config.keyDir, use),
      readAuthority,
      clock,
      random,
      logger,
    });
  return { client: create('client'), serving: create('serving') };
}

async function nodeStatusManager(
  { config, clock, logger }: AgentEnvironment,
  self: Self,
  { runtime, engine, privilege, shares }: NodeRuntime,
  { pressure, nodeSource }: Pick<OwnServices, 'pressure' | 'nodeSource'>,
  client: GrpcClient,
): Promise<NodeStatusManager> {
  const { name, engineName, address, gatewayAddress } = self;
  const ids = await readHostIds();
  const { hostAddress, registration } = config;
  const forwardedFrom = isForwarding(config.forwarders, engine) && self.container !== undefined ? LOOPBACK : '';
  const names = { name, engineName, address, gatewayAddress, hostAddress, forwardedFrom };
  const observation = { ...names, engine, privilege, registration, ids };
  const images = new ImageList(runtime.images, clock, logger);
  const pressures = () => pressure.pressures();
  return new NodeStatusManager({
    client,
    engine: runtime.engine,
    observation,
    shares,
    view: nodeSource,
    pressures,
    images,
    clock,
    logger,
  });
}

/** This node's share of its host: CPU, memory, and the disk of the state folder, which is the engine's disk. */
async function hostShares(
  { capacityShares, reserved }: AgentConfig,
  engine: EngineInfo,
  self: Self,
): Promise<HostShares> {
  const { bsize, blocks } = await statfs(self.shared.path);
  const host = { cpus: engine.cpus, memoryBytes: engine.memoryBytes, storageBytes: bsize * blocks };
  return new HostShares(host, reserved, capacityShares === 0 ? 'all-nodes' : capacityShares);
}

/** The node's client without its dispose method. It is shared, so a borrower must not close it. */
function withoutDispose(client: GrpcClient) {
  return {
    get: client.get.bind(client),
    create: client.create.bind(client),
  };
}

interface CustodianParts {
  readonly self: Self;
  readonly engine: EngineInfo;
  readonly runtime: DockerRuntime;
  readonly services: OwnServices;
  readonly client: GrpcClient;
  readonly mounts: HostMounts;
}

/** Campaigns for this host's custodian, and acts as the custodian while elected. */
async function runCustodian(
  { config, clock, random, logger }: AgentEnvironment,
  { self, engine, runtime, services, client, mounts }: CustodianParts,
  signal: AbortSignal,
): Promise<void> {
  const component = 'cloud-node-lifecycle-controller';
  const events = createEventRecorder({ client, component, clock, random, log: logger });
  const custodian = new Custodian({
    client,
    events,
    runtime,
    agents: runtime.agents,
    compose: self.container?.compose,
    cluster: config.clusterId,
    node: self.name,
    engineName: self.engineName,
    hostName: engine.name,
    statePath: self.shared.path,
    mounts,
    servicesFor: (cleaned) => createCleanupServices(services, self, client, mounts, cleaned),
    clock,
    logger,
  });
  const forwarders = new ForwarderKeeper({
    runtime: runtime.forwarders,
    services: services.linkedServices,
    events: services.events,
    cluster: config.clusterId,
    network: config.podNetwork,
    podCidr: config.podCidr,
    image: isForwarding(config.forwarders, engine) ? self.container?.image : undefined,
    clock,
    random,
    logger,
  });
  const lease = `gantry-host-${self.engineName}`;
  const isSilent = custodian.isSilent.bind(custodian);
  const { renewals } = services;
  const election = new LeaseElection({ client, lease, identity: self.name, renewals, isSilent, clock, logger });
  const parts: readonly Part[] = [
    (abort) => custodian.lead(abort),
    (abort) => services.collector.lead(abort),
    (abort) => forwarders.lead(abort),
  ];
  const act = (_term: unknown, ended: AbortSignal) => runTogether(parts, ended);
  const campaign = (abort: AbortSignal) => lead({ election, act, clock, random, log: logger }, abort);
  await runTogether([campaign, (abort) => custodian.follow(abort)], signal).finally(() => events.close());
}

/** A runtime that accepts pod uids of the API: it finds a static pod by the uid of its mirror. */
function asRecorded<R extends Runtime>(runtime: R, pods: Pick<NodePodView, 'podUid'>): R {
  const { observer } = runtime;
  return {
    ...runtime,
    observer: {
      watch: (cluster, signal) => observer.watch(cluster, signal),
      listPods: (filter, signal) =>
        observer.listPods(
          filter.podUid === undefined ? filter : { ...filter, podUid: pods.podUid(filter.podUid) },
          signal,
        ),
    },
  };
}
