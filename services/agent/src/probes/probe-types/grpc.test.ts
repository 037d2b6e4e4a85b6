import { create } from '@bufbuild/protobuf';
import { type Client, Server, ServerCredentials, type UntypedHandleCall } from '@grpc/grpc-js';
import { withDeadline } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { Health, type HealthCheckRequest, HealthCheckResponseSchema, serviceDefinition } from '@gantry/proto';
import { expect, it, onTestFinished } from 'vitest';
import { container } from '../../testing/pods.ts';
import { grpcProbe } from './grpc.ts';

type Reply = Parameters<Client['waitForReady']>[1] & ((error: null, response: unknown) => void);

/** Starts a server with these services and statuses. Without any, it has no health service. */
async function serve(statuses: Readonly<Record<string, number>> | undefined): Promise<number> {
  const server = new Server();
  const check = ({ request }: { request: HealthCheckRequest }, reply: Reply) =>
    reply(null, create(HealthCheckResponseSchema, { status: statuses?.[request.service] ?? 3 }));
  if (statuses !== undefined) server.addService(serviceDefinition(Health), { check: check as UntypedHandleCall });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  onTestFinished(() => server.forceShutdown());
  return port;
}

const probe = (port: number, service: string | undefined, signal = AbortSignal.timeout(30_000)) => {
  const unused = () => Promise.reject(new Error('not used by this probe'));
  const target = { container: container(), containerId: 'id', address: '127.0.0.1', network: 'pod' } as const;
  const grpc = { port, ...(service === undefined ? {} : { service }) };
  return grpcProbe.run({ grpc }, { ...target, containers: { exec: unused } }, signal);
};

it('a gRPC service is healthy when it says that it serves, and named in the question', async () => {
  const port = await serve({ '': 1, busy: 2 });
  expect(await probe(port, undefined)).toEqual({ kind: 'success' });
  const message = (name: string) => ({ kind: 'failure', message: `service unhealthy (responded with "${name}")` });
  expect(await probe(port, 'busy')).toEqual(message('NOT_SERVING'));
  expect(await probe(port, 'other')).toEqual(message('SERVICE_UNKNOWN'));
});

it('a server without the health service fails with kubelet’s message', async () => {
  const outcome = await probe(await serve(undefined), undefined);
  expect(outcome).toMatchObject({
    kind: 'failure',
    message: expect.stringMatching(/^error: this server does not implement the grpc health protocol/),
  });
});

it('a port on which nothing listens is tried until the timeout', async () => {
  const clock = new ManualClock();
  using deadline = withDeadline(clock, new AbortController().signal, 1000);
  const outcome = probe(1, undefined, deadline);
  await clock.advance(1000);
  expect(await outcome).toEqual({
    kind: 'failure',
    message: 'timeout: failed to connect service "127.0.0.1:1": context deadline exceeded',
  });
});
