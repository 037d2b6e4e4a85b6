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

/** How often each fault occurs between a manager and the API. The numbers are probabilities for one request or one batch of a watch. */
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
  /** Returns undefined while there are no faults. */
  readonly faults: () => Faults | undefined;
  /** Is called for each request before it is sent. */
  readonly onRequest: (verb: string, resource: string) => void;
  /** Is called before a write is sent, and again after it was committed. To crash, it aborts `crashed`. */
  readonly onWrite: (write: ObjectWrite, moment: 'before' | 'after') => void;
  /** Aborted when the process has crashed. From then on nothing is sent and no response arrives. */
  readonly crashed: AbortSignal;
}

/**
 * A manager's client with faults. Requests fail, and responses are lost. Watches break off, arrive late, or repeat earlier events. The
 * process can also crash.
 */
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

/** Reads, unless a fault makes the request fail or the process has crashed. */
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
