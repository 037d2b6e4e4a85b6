import { parseJson } from '@gantry/apimachinery';
import { type KubeObject, type Status, StatusError } from '@gantry/objects';
import type { WatchEvent } from '../object-client.ts';
import { tooLarge } from './http-transport.ts';

interface RawEvent {
  readonly type: string;
  readonly object: KubeObject & Status;
}

const NEWLINE = 10;

/** The events of a watch's response. Events that arrive together form one batch. Rejects with the error that the server sends. */
export async function* watchEvents<T extends KubeObject>(
  response: AsyncIterable<Buffer>,
  maxBytes = Number.POSITIVE_INFINITY,
): AsyncIterable<readonly WatchEvent<T>[]> {
  for await (const lines of linesOf(response, maxBytes)) yield* eventsOf<T>(lines);
}

/** The lines of a response, in groups as they arrive. A line is decoded once it is complete, even if it arrived in many chunks. */
async function* linesOf(response: AsyncIterable<Buffer>, maxBytes: number): AsyncIterable<readonly string[]> {
  let begun: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    const end = chunk.lastIndexOf(NEWLINE);
    begun.push(end < 0 ? chunk : chunk.subarray(0, end));
    size += chunk.length;
    if (size > maxBytes) throw tooLarge('event', maxBytes);
    if (end < 0) continue;
    size = chunk.length - end;
    yield Buffer.concat(begun).toString('utf8').split('\n');
    begun = end + 1 === chunk.length ? [] : [chunk.subarray(end + 1)];
  }
  if (begun.length > 0) yield [Buffer.concat(begun).toString('utf8')];
}

/** The events of the lines in one batch. If a line is invalid, the events before it are yielded first, then its error is thrown. */
function* eventsOf<T extends KubeObject>(lines: readonly string[]): Iterable<readonly WatchEvent<T>[]> {
  const events: WatchEvent<T>[] = [];
  try {
    for (const line of lines) if (line !== '') events.push(parseEvent<T>(line));
  } catch (error) {
    if (events.length > 0) yield events;
    throw error;
  }
  if (events.length > 0) yield events;
}

function parseEvent<T extends KubeObject>(line: string): WatchEvent<T> {
  const { type, object } = parseJson(line) as RawEvent;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: object as T };
    case 'BOOKMARK':
      return {
        type,
        resourceVersion: object.metadata.resourceVersion ?? '',
        initialEventsEnd: (object as KubeObject).metadata.annotations?.['k8s.io/initial-events-end'] === 'true',
      };
    default:
      throw StatusError.fromStatus(object);
  }
}
