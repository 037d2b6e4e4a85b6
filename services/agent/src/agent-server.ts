import { join } from 'node:path';
import { type Clock, raceAbort } from '@gantry/base';
import { type ObjectClient, toGrpcFailure } from '@gantry/client';
import { reportService, runningProcess } from '@gantry/controller-runtime';
import {
  createHealth,
  type GroupMember,
  type GrpcService,
  grpcServer,
  healthService,
  httpEndpoint,
  type Metrics,
  type ReportedParts,
} from '@gantry/service';
import { openTlsFolder } from '@gantry/tls';
import type { AgentEnvironment } from './agent-environment.ts';
import { NodeAccess } from './endpoints/node-access.ts';
import type { NodeEndpoints } from './endpoints/endpoint.ts';
import { createNodeEndpoints, type NodeEndpointsOptions } from './endpoints/node-endpoints.ts';
import { createNodeServer } from './endpoints/node-server.ts';
import type { NodeCertificate, Requester } from './identity/node-certificate.ts';
import type { Self } from './identity/self.ts';
import { logService } from './logs/log-service.ts';
import { reportNode } from './meters.ts';
import { AGENT_PORT } from './node/node-object.ts';
import { MAX_PODS } from './node/node-resources.ts';
import type { EngineInfo } from './runtime/engine.ts';
import type { Owner } from './runtime/labels.ts';
import type { Runtime } from './runtime/runtime.ts';
import type { NodePodView } from './static-pods/node-pod-view.ts';
import type { StepLog } from './pods/step-log.ts';
import { PodStreams } from './streams/serve-stream.ts';
import { usageHandlers } from './usage/usage-handlers.ts';
import type { UsageSampler } from './usage/usage-sampler.ts';
import type { HostMeter } from './runtime/stats.ts';

/** The parts of an agent that its server needs. */
export interface ServedParts {
  readonly self: Self;
  readonly runtime: Runtime;
  readonly engine: EngineInfo;
  readonly usage: UsageSampler;
  readonly meter: HostMeter;
  readonly storage: NodeEndpointsOptions['storage'];
  readonly probes: NodeEndpointsOptions['probes'];
  readonly pods: Pick<NodePodView, 'list' | 'recordUid'>;
  readonly client: Pick<ObjectClient, 'create'>;
  readonly steps: Pick<StepLog, 'state'>;
}

/**
 * Serves gRPC for the API servers and the kubelet's HTTP endpoints for authorised clients, on one port, as soon as the serving
 * certificate exists. Also renews that certificate.
 */
export async function serveAgent(
  environment: AgentEnvironment,
  parts: ServedParts,
  { certificate, requester }: { readonly certificate: NodeCertificate; readonly requester: Requester },
  signal: AbortSignal,
): Promise<void> {
  const { config, clock, activities, logger } = environment;
  const { self, runtime, usage } = parts;
  await certificate.ensure(requester, signal);
  using tls = await openTlsFolder(join(config.keyDir, 'serving'), { clock, logger }, signal);
  const owner = { cluster: config.clusterId, node: self.name };
  const health = createHealth({});
  const { descriptor, handlers } = logService(runtime, owner);
  const streams = new PodStreams({ runtime, owner, clock });
  const agentService: GrpcService = {
    descriptor,
    handlers: {
      ...handlers,
      ...usageHandlers(recordedUsage(usage, parts.pods)),
      openStream: { kind: 'stream', handle: (start, call) => streams.tickets.open(start, call) },
    },
  };
  const access = new NodeAccess({ client: parts.client, node: self.name, clock });
  const endpoints = nodeEndpoints(environment, parts, owner);
  using http = createNodeServer({ tls, access, endpoints, streams, clock, logger });
  const server = grpcServer({
    tls,
    address: `0.0.0.0:${AGENT_PORT}`,
    services: [agentService, healthService(health, clock), reportService(agentReport(parts, clock))],
    activities,
    clock,
    logger,
    toGrpcError: toGrpcFailure,
    http: (socket) => http.accept(socket),
  });
  try {
    await Promise.all([server.run(signal), certificate.renew(requester, signal)]);
  } finally {
    await server.close?.();
  }
}

/** What this agent says of itself to API servers. It needs no election. */
function agentReport({ self, steps }: ServedParts, clock: Clock): ReportedParts {
  return {
    process: runningProcess('kubelet', self.name, clock),
    loops: () => [steps.state()],
  };
}

/** The usage of pods, by the uids of their objects in the API. */
function recordedUsage(usage: UsageSampler, pods: Pick<NodePodView, 'recordUid'>): Pick<UsageSampler, 'pods' | 'node'> {
  return {
    node: () => usage.node(),
    pods: () => usage.pods().map((pod) => ({ ...pod, uid: pods.recordUid(pod.uid) })),
  };
}

function nodeEndpoints(
  { config, metrics, clock, logger }: AgentEnvironment,
  { self, runtime, engine, usage, meter, storage, probes, pods }: ServedParts,
  owner: Owner,
): NodeEndpoints {
  reportNode(metrics, self.name, pods);
  const settings = {
    kind: 'KubeletConfiguration',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    port: AGENT_PORT,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
    authorization: { mode: 'Webhook' },
    maxPods: MAX_PODS,
    podCIDR: config.podCidr,
    containerRuntimeEndpoint: config.dockerSocket,
  };
  const own = self.container?.id;
  const startedAt = clock.now();
  const list = () => pods.list();
  return createNodeEndpoints({
    runtime,
    owner,
    own,
    engine,
    usage,
    meter,
    storage,
    probes,
    pods: list,
    metrics,
    settings,
    startedAt,
    clock,
    logger,
  });
}

/** Health and metrics over plain HTTP, for use inside the container. */
export function healthMember(ping: (signal: AbortSignal) => Promise<void>, metrics: Metrics): GroupMember {
  const check = () => raceAbort(ping(new AbortController().signal), AbortSignal.timeout(2000));
  return httpEndpoint({ health: createHealth({ ready: [{ name: 'engine', check }] }), metrics });
}
