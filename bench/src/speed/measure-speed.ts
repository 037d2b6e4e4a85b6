import { createHttpClient } from '@gantry/client';
import { inNamespace } from '../cluster.ts';
import type { Endpoint } from './endpoint.ts';
import { openGrpcEndpoint } from './grpc-endpoint.ts';
import { openHttpEndpoint } from './http-endpoint.ts';
import { makePods, measureLists } from './lists.ts';
import { type Result, resultOf, type Row } from './report.ts';
import { isRequestVerb, measureRequests } from './requests.ts';
import type { MeasuredServer } from './server.ts';
import { measureWatches } from './watches.ts';

export const ENDPOINTS = ['json', 'protobuf', 'grpc'] as const;
export const STEPS = ['create', 'get', 'update', 'list', 'watch'] as const;

export interface SpeedOptions {
  readonly endpoints: ReadonlySet<string>;
  readonly steps: ReadonlySet<string>;
  /** Number of measurements of each request. */
  readonly rounds: number;
  readonly onResult: (result: Result) => void;
  /** Called when a measurement failed at an endpoint; the others continue. */
  readonly onFailure: (endpoint: string, error: unknown) => void;
}

/** Measures every step at every endpoint, in a temporary namespace. */
export async function measureSpeed(server: MeasuredServer, options: SpeedOptions): Promise<readonly Result[]> {
  const { steps, rounds, onResult, onFailure } = options;
  const results: Result[] = [];
  const take = async (endpoint: Endpoint, rows: AsyncGenerator<Row>) => {
    try {
      for await (const row of rows) {
        const result = resultOf(row);
        results.push(result);
        onResult(result);
      }
    } catch (error) {
      onFailure(endpoint.name, error);
    }
  };
  using api = createHttpClient({ ...server.target, fieldManager: 'bench' });
  const endpoints = await openEndpoints(server, options.endpoints);
  try {
    await inNamespace(api, `bench-speed-${process.pid}`, async (namespace) => {
      const verbs = [...steps].filter(isRequestVerb);
      for (const endpoint of verbs.length === 0 ? [] : endpoints) {
        for (let round = 0; round < rounds; round++) {
          await take(endpoint, measureRequests(server, endpoint, { namespace, round }, new Set(verbs)));
        }
      }
      for (const endpoint of steps.has('watch') ? endpoints : [])
        await take(endpoint, measureWatches(server, endpoint, api, namespace));
      const [first] = endpoints;
      if (!steps.has('list') || first === undefined) return;
      await makePods(first, namespace);
      for (const endpoint of endpoints) await take(endpoint, measureLists(server, endpoint, namespace));
    });
  } finally {
    for (const endpoint of endpoints) endpoint[Symbol.dispose]();
  }
  return results;
}

async function openEndpoints(server: MeasuredServer, names: ReadonlySet<string>): Promise<readonly Endpoint[]> {
  const { target, grpcPort, grpcAddresses } = server;
  const endpoints: Endpoint[] = [];
  if (names.has('json')) endpoints.push(await openHttpEndpoint(target, 'JSON'));
  if (names.has('protobuf')) endpoints.push(await openHttpEndpoint(target, 'protobuf'));
  if (names.has('grpc')) endpoints.push(openGrpcEndpoint(target, grpcPort, grpcAddresses));
  return endpoints;
}
