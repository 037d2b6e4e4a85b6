import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { raceAbort } from '@gantry/base';
import { createGrpcClient, type GrpcClient, toGrpcFailure } from '@gantry/client';
import {
  createHealth,
  createMetrics,
  type GroupMember,
  grpcServer,
  healthService,
  httpEndpoint,
  openTlsFolder,
} from '@gantry/service';
import type { AgentEnvironment } from './agent-environment.ts';
import { Custodian } from './custodian/custodian.ts';
import { LeaseElection } from './custodian/lease-election.ts';
import type { DockerRuntime } from './docker/docker-runtime.ts';
import { bootstrapRequester } from './identity/bootstrap-client.ts';
import { NodeCertificate } from './identity/node-certificate.ts';
import { findSelf, type Self } from './identity/self.ts';
import { logService } from './logs/log-service.ts';
import { Heartbeat } from './node/heartbeat.ts';
import { readHostIds } from './node/host-ids.ts';
import { NodeKeeper } from './node/node-keeper.ts';
import { AGENT_PORT } from './node/node-object.ts';
import { PodManager } from './pods/pod-manager.ts';
import type { WorkerServices } from './pods/worker-services.ts';
import { enginePrivilege } from './runtime/privilege-file.ts';
import type { EngineInfo, EnginePrivilege } from './runtime/runtime.ts';
import { tidyServices, workerServices } from './worker-wiring.ts';

/** The one member of an agent's process that everything hangs on; it starts in the order in which knowledge comes. */
export function agentMember(environment: AgentEnvironment): GroupMember {
  return { name: 'agent', run: (signal) => runAgent(environment, signal) };
}

async function runAgent(environment: AgentEnvironment, signal: AbortSignal): Promise<void> {
  try {
    await start(environment, signal);
  } catch (error) {
    // Asked to stop in the middle of the start: nothing is left to do.
    if (!signal.aborted) throw error;
  }
}

async function start(environment: AgentEnvironment, signal: AbortSignal): Promise<void> {
  const { config, clock, random, logger } = environment;
  let privilege: EnginePrivilege = 'no-sys-resource';
  const runtime = environment.connect(() => privilege);
  const engine = await runtime.engine.info(signal);
  const self = await findSelf(config, engine, runtime.agents, signal);
  const owner = { cluster: config.clusterId, node: self.name };
  logger.info({ node: self.name, engine: engine.id, version: engine.version, address: self.address }, 'agent starts');
  privilege = await enginePrivilege(self.state.path, engine, runtime, config.sandboxImage, owner, signal);

  const certificates = certificatesOf(self, environment);
  const bootstrap = bootstrapRequester(config.bootstrapDir, config.apiservers, clock, random);
  await certificates.client.ensure(bootstrap, signal);
  using tls = await openTlsFolder(join(self.state.path, 'tls', 'client'), { clock, logger }, signal);
  using client = createGrpcClient({ addresses: config.apiservers, tls, fieldManager: 'kubelet', clock, random });

  const services = workerServices(environment, self, engine, privilege, runtime, client);
  const keeper = new NodeKeeper({
    client,
    engine: runtime.engine,
    observation: {
      name: self.name,
      engineName: self.engineName,
      address: self.address,
      engine,
      privilege,
      shares: config.capacityShares,
      ids: await readHostIds(),
    },
    clock,
    logger,
  });
  await keeper.register(signal);
  const heartbeat = new Heartbeat({ client, node: self.name, clock, logger, onRecovered: () => keeper.checkNow() });
  const own = () => Promise.resolve(withoutDispose(client));
  await together(
    [
      (abort) => heartbeat.run(abort),
      (abort) => keeper.run(abort),
      (abort) => services.gate.run(abort),
      (abort) => services.pods.run(abort),
      (abort) => services.reporter.run(abort),
      (abort) => new PodManager(services).run(abort),
      (abort) => keepHost(environment, self, engine, runtime, services, client, abort),
      (abort) => certificates.client.keep(own, abort),
      (abort) => serve(environment, self, runtime, certificates.serving, client, abort),
    ],
    signal,
  );
}

/** Runs parts until the first fails or `signal` is aborted, then ends all. */
async function together(
  parts: readonly ((signal: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController();
  const all = AbortSignal.any([signal, failed.signal]);
  const results = await Promise.allSettled(
    parts.map((part) =>
      part(all).catch((error: unknown) => {
        failed.abort(error);
        throw error;
      }),
    ),
  );
  const first = results.find((result) => result.status === 'rejected');
  if (first !== undefined && !signal.aborted) throw failed.signal.reason;
}

function certificatesOf(self: Self, { config, clock, random, logger }: AgentEnvironment) {
  const readAuthority = () => readFile(join(config.bootstrapDir, 'ca.crt'));
  const make = (use: 'client' | 'serving') =>
    new NodeCertificate({
      node: self.name,
      use,
      folder: join(self.state.path, 'tls', use),
      readAuthority,
      clock,
      random,
      logger,
    });
  return { client: make('client'), serving: make('serving') };
}

/** The node's client serves all requests: whoever borrows it must not close it. */
function withoutDispose(client: GrpcClient) {
  return {
    get: client.get.bind(client),
    list: client.list.bind(client),
    watch: client.watch.bind(client),
    write: client.write.bind(client),
    batch: client.batch.bind(client),
  };
}

/** Stands for election as this host's custodian, and acts as such while elected. */
async function keepHost(
  { config, clock, logger }: AgentEnvironment,
  self: Self,
  engine: EngineInfo,
  runtime: DockerRuntime,
  services: WorkerServices,
  client: GrpcClient,
  signal: AbortSignal,
): Promise<void> {
  const custodian = new Custodian({
    client,
    runtime,
    agents: runtime.agents,
    compose: self.container?.compose,
    cluster: config.clusterId,
    node: self.name,
    engineName: self.engineName,
    hostName: engine.name,
    statePath: self.shared.path,
    servicesFor: (node, object) => tidyServices(services, self, client, node, object),
    clock,
    logger,
  });
  const lease = `gantry-host-${self.engineName}`;
  const election = new LeaseElection({ client, lease, identity: self.name, clock, logger });
  await election.run((term) => custodian.lead(term), signal);
}

/** The agent's gRPC door, open as soon as its serving certificate is there. */
async function serve(
  { config, clock, logger }: AgentEnvironment,
  self: Self,
  runtime: DockerRuntime,
  certificate: NodeCertificate,
  client: GrpcClient,
  signal: AbortSignal,
): Promise<void> {
  const own = () => Promise.resolve(withoutDispose(client));
  await certificate.ensure(own, signal);
  using tls = await openTlsFolder(join(self.state.path, 'tls', 'serving'), { clock, logger }, signal);
  const owner = { cluster: config.clusterId, node: self.name };
  const health = createHealth({});
  const server = grpcServer({
    tls,
    address: `0.0.0.0:${AGENT_PORT}`,
    services: [logService(runtime, owner), healthService(health, clock)],
    logger,
    toGrpcError: toGrpcFailure,
  });
  try {
    await Promise.all([server.run(signal), certificate.keep(own, signal)]);
  } finally {
    await server.close?.();
  }
}

/** Plain health and metrics for whoever is inside the container. */
export function healthMember(ping: (signal: AbortSignal) => Promise<void>): GroupMember {
  const check = () => raceAbort(ping(new AbortController().signal), AbortSignal.timeout(2000));
  return httpEndpoint({ health: createHealth({ ready: [{ name: 'engine', check }] }), metrics: createMetrics() });
}
