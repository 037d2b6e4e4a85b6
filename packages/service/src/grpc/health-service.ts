import { create } from '@bufbuild/protobuf';
import { Health as HealthDescriptor, type HealthCheckResponse, HealthCheckResponseSchema } from '@gantry/proto';
import { type Clock, sleep } from '@gantry/base';
import type { Health } from '../health.ts';
import type { GrpcCall, GrpcService } from './grpc-service.ts';

const SERVING = 1;
const NOT_SERVING = 2;
const WATCH_INTERVAL_MS = 1000;

/** The standard gRPC health service: serving while the process is ready. One state for all service names. */
export function healthService(health: Health, clock: Clock): GrpcService {
  return {
    descriptor: HealthDescriptor,
    handlers: {
      check: { kind: 'unary', handle: async () => response(await statusOf(health)) },
      watch: { kind: 'stream', handle: (_request: never, call: GrpcCall) => watchHealth(health, clock, call.signal) },
    },
  };
}

async function* watchHealth(health: Health, clock: Clock, signal: AbortSignal): AsyncIterable<HealthCheckResponse> {
  let last = -1;
  for (;;) {
    const now = await statusOf(health);
    if (now !== last) yield response(now);
    last = now;
    await sleep(clock, WATCH_INTERVAL_MS, signal);
  }
}

async function statusOf(health: Health): Promise<number> {
  return (await health.ready()).length === 0 ? SERVING : NOT_SERVING;
}

function response(value: number): HealthCheckResponse {
  return create(HealthCheckResponseSchema, { status: value });
}
