import { create, toBinary } from '@bufbuild/protobuf';
import { type WatchBatch, WatchBatchSchema, type WatchEvent, WatchEventSchema } from '@gantry/proto';
import { type EventItem, eventForms, type ObjectResponse, type WatchItem } from '../../cache/object-response.ts';

/** Limits of one message. */
const MAX_EVENTS = 500;
const MAX_BYTES = 1024 * 1024;

const FORMS = eventForms('grpc');

/**
 * Packs the items of a watch into messages. A message has all items that arrived while the previous one was written, within the limits.
 * Each message has the version up to which all events were sent. A message of one event is encoded once for all watches.
 */
export async function* packWatch(
  items: AsyncIterable<readonly WatchItem[]>,
  shows: 'whole' | 'metadata',
): AsyncIterable<WatchBatch | Uint8Array> {
  const jsonOf = shows === 'whole' ? wholeJson : metadataJson;
  for await (const batch of items) {
    const [only] = batch;
    if (shows === 'whole' && batch.length === 1 && only !== undefined && only.type !== 'BOOKMARK') {
      yield only.response.form(FORMS[only.type], () => encodeOne(only));
    } else yield* pack(batch, jsonOf);
    // Wait one turn of the event loop, so that concurrent changes are in one message.
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

function encodeOne({ type, response }: EventItem): Uint8Array {
  const event = create(WatchEventSchema, { type, object: response.json() });
  const { resourceVersion = '' } = response.object.metadata;
  return toBinary(WatchBatchSchema, create(WatchBatchSchema, { events: [event], resourceVersion }));
}

function* pack(items: readonly WatchItem[], jsonOf: (response: ObjectResponse) => Uint8Array): Iterable<WatchBatch> {
  let events: WatchEvent[] = [];
  let bytes = 0;
  let resourceVersion = '';
  for (const item of items) {
    if (item.type === 'BOOKMARK') {
      resourceVersion = String(item.resourceVersion);
      if (!item.initialEventsEnd) continue;
      yield create(WatchBatchSchema, { events, resourceVersion, initialEventsEnd: true });
      events = [];
      bytes = 0;
      resourceVersion = '';
      continue;
    }
    const object = jsonOf(item.response);
    events.push(create(WatchEventSchema, { type: item.type, object }));
    bytes += object.length;
    resourceVersion = item.response.object.metadata.resourceVersion ?? resourceVersion;
    if (events.length < MAX_EVENTS && bytes < MAX_BYTES) continue;
    yield create(WatchBatchSchema, { events, resourceVersion });
    events = [];
    bytes = 0;
    resourceVersion = '';
  }
  if (events.length > 0 || resourceVersion !== '') yield create(WatchBatchSchema, { events, resourceVersion });
}

/** The JSON of the whole object, in shared bytes. */
export function wholeJson(response: ObjectResponse): Uint8Array {
  return response.json();
}

/** An object's metadata without managed fields, for caches of all resources. Rarely requested, so the bytes are not kept. */
export function metadataJson({ object }: ObjectResponse): Uint8Array {
  const { managedFields: _managed, ...metadata } = object.metadata;
  return Buffer.from(JSON.stringify({ kind: object.kind, apiVersion: object.apiVersion, metadata }));
}
