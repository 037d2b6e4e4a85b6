import { create, type Message } from '@bufbuild/protobuf';
import { type Client, credentials, makeGenericClientConstructor, type ServiceError, status } from '@grpc/grpc-js';
import { raceAbort } from '@gantry/base';
import { Health, HealthCheckRequestSchema, type HealthCheckResponse, serviceDefinition } from '@gantry/proto';
import { defineProbeType, failure, type ProbeOutcome, SUCCESS } from './probe-type.ts';

const SERVING = 1;
const STATUS_NAMES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

type HealthClient = Client & {
  check(
    request: Message,
    callback: (error: ServiceError | null, response?: HealthCheckResponse) => void,
  ): { cancel(): void };
};

/**
 * Calls the standard gRPC health service; SERVING is a success. Like in the kubelet, a refused connection is retried until the timeout.
 */
export const grpcProbe = defineProbeType('grpc', async ({ port, service = '' }, { address }, signal) => {
  const Constructor = makeGenericClientConstructor(serviceDefinition(Health), 'Health');
  const options = { 'grpc.primary_user_agent': 'kube-probe/1.36' };
  const target = `${address}:${port}`;
  const client = new Constructor(target, credentials.createInsecure(), options) as unknown as HealthClient;
  try {
    const connected = new Promise<void>((resolve, reject) => {
      client.waitForReady(Infinity, (error) => (error === undefined ? resolve() : reject(error)));
    });
    await raceAbort(connected, signal).catch((error) => {
      if (!signal.aborted) throw error;
    });
    if (signal.aborted) return failure(`timeout: failed to connect service "${target}": context deadline exceeded`);
    return await check(client, service, signal);
  } finally {
    client.close();
  }
});

function check(client: HealthClient, service: string, signal: AbortSignal): Promise<ProbeOutcome> {
  return new Promise((resolve) => {
    const call = client.check(create(HealthCheckRequestSchema, { service }), (error, response) => {
      const answer = response?.status ?? 0;
      if (signal.aborted) resolve(failure('timeout: health rpc did not complete in time'));
      else if (error !== null) resolve(failure(describe(error)));
      else if (answer === SERVING) resolve(SUCCESS);
      else resolve(failure(`service unhealthy (responded with "${STATUS_NAMES[answer] ?? answer}")`));
    });
    signal.addEventListener('abort', () => call.cancel(), { once: true });
  });
}

/** The kubelet's message. */
function describe({ code, details }: ServiceError): string {
  return code === status.UNIMPLEMENTED
    ? `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`
    : `error: health rpc probe failed: ${details}`;
}
