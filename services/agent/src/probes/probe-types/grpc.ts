import { create, type Message } from '@bufbuild/protobuf';
import { type Client, credentials, makeGenericClientConstructor, type ServiceError } from '@grpc/grpc-js';
import { Health, HealthCheckRequestSchema, type HealthCheckResponse, serviceDefinition } from '@gantry/proto';
import { defineProbeType, failure, type ProbeOutcome, SUCCESS } from './probe-type.ts';

const SERVING = 1;

type HealthClient = Client & {
  check(
    request: Message,
    callback: (error: ServiceError | null, response?: HealthCheckResponse) => void,
  ): { cancel(): void };
};

/** Calls the standard gRPC health service: SERVING is success. */
export const grpcProbe = defineProbeType('grpc', ({ port, service = '' }, { address }, signal) => {
  const Constructor = makeGenericClientConstructor(serviceDefinition(Health), 'Health');
  const client = new Constructor(`${address}:${port}`, credentials.createInsecure()) as unknown as HealthClient;
  return new Promise<ProbeOutcome>((resolve) => {
    const call = client.check(create(HealthCheckRequestSchema, { service }), (error, response) => {
      if (signal.aborted)
        resolve(failure(`timeout: failed to connect service "${address}:${port}" within its deadline`));
      else if (error !== null) resolve(failure(`error: health rpc failed: ${error.message}`));
      else if (response?.status === SERVING) resolve(SUCCESS);
      else resolve(failure(`service unhealthy (responded with "${response?.status ?? 0}")`));
    });
    signal.addEventListener('abort', () => call.cancel(), { once: true });
  }).finally(() => client.close());
});
