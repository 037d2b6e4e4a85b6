import { create } from '@bufbuild/protobuf';
import { type WatchBatch, WatchBatchSchema, type WatchEvent, WatchEventSchema } from '@gantry/proto';
import type { ObjectResponse, WatchItem } from '../../cache/object-response.ts';

/** Bounds of one message. */
const MAX_EVENTS = 500;
const MAX_BYTES = 1024 * 1024;

/**
 * Packs a watch into messages: what has gathered while the last one was written goes as one, within bounds. Each says up to
 * which version everything has been told.
 */
export async function* packWatch(
  items: AsyncIterable<readonly WatchItem[]>,
  jsonOf: (response: ObjectResponse) => Uint8Array,
): AsyncIterable<WatchBatch> {
  for await (const batch of items) {
    yield* pack(batch, jsonOf);
    // One turn of the event loop, so that changes of the same moment travel together.
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
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

/** The object as everybody is shown it, in bytes that are shared. */
export function wholeJson(response: ObjectResponse): Uint8Array {
  return response.json();
}

/** An object's metadata without managed fields, for caches of all resources. Rarely requested, so the bytes are not kept. */
export function metadataJson({ object }: ObjectResponse): Uint8Array {
  const { managedFields: _managed, ...metadata } = object.metadata;
  return Buffer.from(JSON.stringify({ kind: object.kind, apiVersion: object.apiVersion, metadata }));
}
