import { createHttpClient } from '@gantry/client';
import { inNamespace } from '../cluster.ts';
import type { Door } from './door.ts';
import { openGrpcDoor } from './grpc-door.ts';
import { openHttpDoor } from './http-door.ts';
import { makePods, measureLists } from './lists.ts';
import { type Result, resultOf, type Row } from './report.ts';
import { isRequestVerb, measureRequests } from './requests.ts';
import type { MeasuredServer } from './server.ts';
import { measureWatches } from './watches.ts';

export const DOORS = ['json', 'protobuf', 'grpc'] as const;
export const STEPS = ['create', 'get', 'update', 'list', 'watch'] as const;

export interface SpeedOptions {
  readonly doors: ReadonlySet<string>;
  readonly steps: ReadonlySet<string>;
  /** How often requests are measured. */
  readonly rounds: number;
  readonly onResult: (result: Result) => void;
  /** Told of a door through which a measure could not be finished; the others go on. */
  readonly onFailure: (door: string, error: unknown) => void;
}

/** Measures every step through every door, in a namespace of its own that is removed again. */
export async function measureSpeed(server: MeasuredServer, options: SpeedOptions): Promise<readonly Result[]> {
  const { steps, rounds, onResult, onFailure } = options;
  const results: Result[] = [];
  const take = async (door: Door, rows: AsyncGenerator<Row>) => {
    try {
      for await (const row of rows) {
        const result = resultOf(row);
        results.push(result);
        onResult(result);
      }
    } catch (error) {
      onFailure(door.name, error);
    }
  };
  using api = createHttpClient({ ...server.target, fieldManager: 'bench' });
  const doors = await openDoors(server, options.doors);
  try {
    await inNamespace(api, `bench-speed-${process.pid}`, async (namespace) => {
      const verbs = [...steps].filter(isRequestVerb);
      for (const door of verbs.length === 0 ? [] : doors) {
        for (let round = 0; round < rounds; round++) {
          await take(door, measureRequests(server, door, { namespace, round }, new Set(verbs)));
        }
      }
      for (const door of steps.has('watch') ? doors : [])
        await take(door, measureWatches(server, door, api, namespace));
      const [first] = doors;
      if (!steps.has('list') || first === undefined) return;
      await makePods(first, namespace);
      for (const door of doors) await take(door, measureLists(server, door, namespace));
    });
  } finally {
    for (const door of doors) door[Symbol.dispose]();
  }
  return results;
}

async function openDoors(server: MeasuredServer, names: ReadonlySet<string>): Promise<readonly Door[]> {
  const { target, grpcPort, grpcAddresses } = server;
  const doors: Door[] = [];
  if (names.has('json')) doors.push(await openHttpDoor(target, 'JSON'));
  if (names.has('protobuf')) doors.push(await openHttpDoor(target, 'protobuf'));
  if (names.has('grpc')) doors.push(openGrpcDoor(target, grpcPort, grpcAddresses));
  return doors;
}
