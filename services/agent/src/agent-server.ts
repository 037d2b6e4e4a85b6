import { join } from 'node:path';
import { raceAbort } from '@gantry/base';
import { toGrpcFailure } from '@gantry/client';
import { createHealth, type GroupMember, grpcServer, healthService, httpEndpoint, type Metrics } from '@gantry/service';
import { openTlsFolder } from '@gantry/tls';
import type { AgentEnvironment } from './agent-environment.ts';
import type { NodeCertificate, Requester } from './identity/node-certificate.ts';
import type { Self } from './identity/self.ts';
import { logService } from './logs/log-service.ts';
import { AGENT_PORT } from './node/node-object.ts';
import type { Runtime } from './runtime/runtime.ts';
import { streamHandlers } from './streams/stream-handlers.ts';
import { usageHandlers } from './usage/usage-handlers.ts';
import type { UsageSampler } from './usage/usage-sampler.ts';

/** Serves gRPC to the API servers as soon as the serving certificate exists, and renews that certificate. */
export async function serveAgent(
  { config, clock, activities, logger }: AgentEnvironment,
  { self, runtime, usage }: { readonly self: Self; readonly runtime: Runtime; readonly usage: UsageSampler },
  { certificate, requester }: { readonly certificate: NodeCertificate; readonly requester: Requester },
  signal: AbortSignal,
): Promise<void> {
  await certificate.ensure(requester, signal);
  using tls = await openTlsFolder(join(config.keyDir, 'serving'), { clock, logger }, signal);
  const owner = { cluster: config.clusterId, node: self.name };
  const health = createHealth({});
  const { descriptor, handlers } = logService(runtime, owner);
  const agentService = {
    descriptor,
    handlers: { ...handlers, ...usageHandlers(usage), ...streamHandlers(runtime, owner) },
  };
  const server = grpcServer({
    tls,
    address: `0.0.0.0:${AGENT_PORT}`,
    services: [agentService, healthService(health, clock)],
    activities,
    clock,
    logger,
    toGrpcError: toGrpcFailure,
  });
  try {
    await Promise.all([server.run(signal), certificate.renew(requester, signal)]);
  } finally {
    await server.close?.();
  }
}

/** Health and metrics over plain HTTP, for use inside the container. */
export function healthMember(ping: (signal: AbortSignal) => Promise<void>, metrics: Metrics): GroupMember {
  const check = () => raceAbort(ping(new AbortController().signal), AbortSignal.timeout(2000));
  return httpEndpoint({ health: createHealth({ ready: [{ name: 'engine', check }] }), metrics });
}
