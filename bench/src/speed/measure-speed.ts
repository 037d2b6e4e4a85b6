import { createHttpClient } from '@gantry/client';
import { inNamespace } from '../cluster.ts';
import type { EndpointKind } from './endpoint.ts';
import { grpcKind } from './grpc-endpoint.ts';
import { httpKind } from './http-endpoint.ts';
import { makePods, measureLists } from './lists.ts';
import type { Row } from './report.ts';
import { isRequestVerb, measureRequests } from './requests.ts';
import type { MeasuredServer } from './server.ts';
import { measureWatches } from './watches.ts';

export const ENDPOINTS = ['json', 'protobuf', 'grpc'] as const;
export const STEPS = ['create', 'get', 'update', 'patch', 'delete', 'list', 'watch'] as const;

/** Connections of requests and lists. */
const CONNECTIONS = 8;

export interface SpeedOptions {
  readonly endpoints: ReadonlySet<string>;
  readonly steps: ReadonlySet<string>;
  /** Number of measurements of each request. */
  readonly rounds: number;
  readonly onRow: (row: Row) => void;
  /** Called when a measurement failed at an endpoint; the others continue. */
  readonly onFailure: (endpoint: string, error: unknown) => void;
}

/** Measures every step at every endpoint, in a temporary namespace. */
export async function measureSpeed(server: MeasuredServer, options: SpeedOptions): Promise<void> {
  const { steps, rounds, onRow, onFailure } = options;
  const kinds = kindsOf(server, options.endpoints);
  const take = async (kind: EndpointKind, rows: AsyncGenerator<Row>) => {
    try {
      for await (const row of rows) onRow(row);
    } catch (error) {
      onFailure(kind.name, error);
    }
  };
  using api = createHttpClient({ ...server.target, fieldManager: 'bench' });
  await inNamespace(api, `bench-speed-${process.pid}-${[...steps].join('-')}`, async (namespace) => {
    const verbs = new Set([...steps].filter(isRequestVerb));
    for (const kind of verbs.size === 0 ? [] : kinds) {
      using endpoint = await kind.open(CONNECTIONS);
      for (let round = 0; round < rounds; round++) {
        const { name } = kind;
        await take(kind, measureRequests(server, { name, endpoint }, { namespace, round }, verbs));
      }
    }
    for (const kind of steps.has('watch') ? kinds : []) await take(kind, measureWatches(server, kind, api, namespace));
    const [first] = kinds;
    if (!steps.has('list') || first === undefined) return;
    using writer = await first.open(CONNECTIONS);
    const restMib = await makePods(server, writer, namespace);
    for (const kind of kinds) {
      using endpoint = await kind.open(CONNECTIONS);
      await take(kind, measureLists(server, kind, endpoint, { namespace, restMib }));
    }
  });
}

function kindsOf(
  { target, grpcPort, grpcAddresses }: MeasuredServer,
  names: ReadonlySet<string>,
): readonly EndpointKind[] {
  const kinds: EndpointKind[] = [];
  if (names.has('json')) kinds.push(httpKind(target, 'JSON'));
  if (names.has('protobuf')) kinds.push(httpKind(target, 'protobuf'));
  if (names.has('grpc') && grpcAddresses.length > 0) kinds.push(grpcKind(target, grpcPort, grpcAddresses));
  return kinds;
}
