import { join } from 'node:path';
import type { GrpcClient } from '@gantry/client';
import { createEventRecorder } from '@gantry/controller-runtime';
import type { AgentEnvironment } from './agent-environment.ts';
import { NO_PODS } from './custodian/no-pods.ts';
import type { DockerRuntime } from './docker/docker-runtime.ts';
import type { Self } from './identity/self.ts';
import { AddressPool } from './pods/addresses.ts';
import { apiConfigSource } from './pods/config-source.ts';
import { apiServerVariables, firstServiceAddress } from './pods/environment.ts';
import { PodSource } from './pods/pod-source.ts';
import { Slots } from './pods/slots.ts';
import { TruthGate } from './pods/truth-gate.ts';
import type { WorkerServices } from './pods/worker-services.ts';
import type { EngineInfo, EnginePrivilege } from './runtime/runtime.ts';
import { StatusReporter } from './status/status-reporter.ts';
import { PodVolumes } from './volumes/pod-volumes.ts';
import { TokenSource } from './volumes/service-account-token.ts';

const PARALLEL_STARTS = 6;
const API_PORT = 443;

/** What the workers of this node's own pods share. */
export function workerServices(
  { config, clock, random, logger }: AgentEnvironment,
  self: Self,
  engine: EngineInfo,
  privilege: EnginePrivilege,
  runtime: DockerRuntime,
  client: GrpcClient,
): WorkerServices {
  const owner = { cluster: config.clusterId, node: self.name };
  const facts = {
    nodeName: self.name,
    hostAddress: self.address,
    cpus: engine.cpus,
    memoryBytes: engine.memoryBytes,
  };
  const pods = new PodSource({ client, node: self.name, clock, random, logger });
  const source = apiConfigSource(client);
  return {
    mandate: 'run',
    owner,
    facts,
    privilege,
    podNetwork: config.podNetwork,
    sandboxImage: config.sandboxImage,
    baseEnvironment: apiServerVariables(firstServiceAddress(config.serviceCidr), API_PORT),
    runtime,
    client,
    pods,
    gate: new TruthGate(clock, (signal) => pods.confirm(signal)),
    reporter: new StatusReporter({ client, pods, clock, logger }),
    volumes: new PodVolumes({ state: self.state, source, tokens: new TokenSource(client, clock), facts, clock }),
    config: source,
    addresses: new AddressPool(config.podCidr, clock, random),
    events: createEventRecorder({ client, component: 'kubelet', host: self.name, clock, random, log: logger }),
    starts: new Slots(PARALLEL_STARTS),
    clock,
    random,
    logger,
  };
}

/** The services for another node's pods: its own pods and folders, everything else as for this node. */
export function tidyServices(
  services: WorkerServices,
  self: Self,
  client: GrpcClient,
  node: string,
  object: 'present' | 'absent',
): WorkerServices {
  const { clock, random, logger } = services;
  const pods = new PodSource({ client: object === 'present' ? client : NO_PODS, node, clock, random, logger });
  const folder = (shared: string) => join(shared, 'nodes', node);
  const state = { path: folder(self.shared.path), hostPath: folder(self.shared.hostPath) };
  const { config: source, facts } = services;
  return {
    ...services,
    mandate: 'tidy',
    owner: { cluster: services.owner.cluster, node },
    pods,
    gate: new TruthGate(clock, (abort) => pods.confirm(abort)),
    volumes: new PodVolumes({ state, source, tokens: new TokenSource(client, clock), facts, clock }),
  };
}
