import { type Clock, pause } from '@gantry/base';
import {
  createObjectClient,
  type ObjectClient,
  type ObjectWrite,
  type WatchEvent,
  type WatchOptions,
  writeResult,
} from '@gantry/client';
import { type KubeObject, type Resource, StatusError } from '@gantry/objects';
import type { Activity } from './activity.ts';
import type { Dice } from './dice.ts';

/** How often what goes wrong between a manager and the API. Probabilities of one request or one batch of a watch. */
export interface Faults {
  readonly requestFails: number;
  readonly answerLost: number;
  readonly watchBreaks: number;
  readonly historyLost: number;
  readonly viewLate: number;
  readonly repeated: number;
  /** The longest delay of a late view. */
  readonly lateMs: number;
}

export interface DisturbedOptions {
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly activity: Activity;
  readonly dice: Dice;
  /** Undefined while nothing goes wrong. */
  readonly faults: () => Faults | undefined;
  /** Called for every request, before it is sent. */
  readonly onRequest: (verb: string, resource: string) => void;
  /** Called before a write is sent, and after it was committed: a crash aborts `crashed`. */
  readonly onWrite: (write: ObjectWrite, moment: 'before' | 'after') => void;
  /** Aborted when the process has crashed: nothing is sent any more, and no answer arrives. */
  readonly crashed: AbortSignal;
}

/** A manager's client: requests fail, answers get lost, views break off, come late, or repeat what was seen; and it can crash. */
export function createDisturbedClient(options: DisturbedOptions): ObjectClient {
  const { client, activity } = options;
  const write = (sent: ObjectWrite, signal: AbortSignal): Promise<KubeObject> => {
    options.onRequest(sent.verb, sent.resource.resource);
    return activity.of(() => writeDisturbed(options, sent, signal));
  };
  return createObjectClient({
    get: (resource, key, signal) => {
      options.onRequest('get', resource.resource);
      return activity.of(() => readDisturbed(options, () => client.get(resource, key, signal)));
    },
    list: (resource, how, signal) => {
      options.onRequest('list', resource.resource);
      return activity.of(() => readDisturbed(options, () => client.list(resource, how, signal)));
    },
    watch: (resource, how, signal) => {
      options.onRequest('watch', resource.resource);
      return watchDisturbed(options, resource, how, signal);
    },
    write,
    batch: (writes, signal) => Promise.all(writes.map((one) => writeResult(write(one, signal)))),
  });
}

/** Reads, unless the request fails or the process has crashed. */
export async function readDisturbed<T>(
  { faults, dice, crashed }: Pick<DisturbedOptions, 'faults' | 'dice' | 'crashed'>,
  read: () => Promise<T>,
): Promise<T> {
  crashed.throwIfAborted();
  const now = faults();
  if (now !== undefined && dice.chance(now.requestFails)) throw failure(dice, 'read');
  const result = await read();
  crashed.throwIfAborted();
  return result;
}

async function writeDisturbed(options: DisturbedOptions, write: ObjectWrite, signal: AbortSignal): Promise<KubeObject> {
  const { client, faults, dice, crashed, onWrite } = options;
  crashed.throwIfAborted();
  onWrite(write, 'before');
  crashed.throwIfAborted();
  const now = faults();
  if (now !== undefined && dice.chance(now.requestFails)) throw failure(dice, 'write');
  const result = await client.write(write, signal);
  onWrite(write, 'after');
  crashed.throwIfAborted();
  if (now !== undefined && dice.chance(now.answerLost))
    throw StatusError.timeout('outcome unknown: the answer was lost');
  return result;
}

function failure(dice: Dice, of: 'read' | 'write'): StatusError {
  const all = [
    StatusError.unavailable('no server is there'),
    new StatusError('TooManyRequests', 'too many requests, please try again later'),
    StatusError.internal('the server has failed'),
    StatusError.timeout('the deadline passed before the request was sent'),
  ];
  if (of === 'write') all.push(new StatusError('Conflict', 'the object has been modified; please apply your changes'));
  return dice.pick(all);
}

async function* watchDisturbed<T extends KubeObject>(
  options: DisturbedOptions,
  resource: Resource<T>,
  how: WatchOptions,
  signal: AbortSignal,
): AsyncIterable<readonly WatchEvent<T>[]> {
  const { client, clock, faults, dice, crashed } = options;
  for await (const batch of client.watch(resource, how, signal)) {
    crashed.throwIfAborted();
    const now = faults();
    if (now === undefined || batch.every(({ type }) => type === 'BOOKMARK')) {
      yield batch;
      continue;
    }
    if (dice.chance(now.viewLate)) await pause(clock, dice.between(1, now.lateMs), signal);
    crashed.throwIfAborted();
    if (dice.chance(now.historyLost)) throw StatusError.expired('too old resource version');
    if (dice.chance(now.watchBreaks)) throw StatusError.unavailable('connection lost');
    yield batch;
    if (dice.chance(now.repeated)) yield batch;
  }
}
