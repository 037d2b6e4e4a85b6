import { type Clock, errorMessage, settlesWithin } from '@gantry/base';
import { type ResourceDefinition, encodeProtobuf, encodeWatchFrame } from '@gantry/apimachinery';
import { apiVersionOf, goJson, type Json, type JsonObject, type KubeObject, StatusError } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import { type ByteMessages, HandshakeError, openEventMessages, type Upgrade, upgradeOf } from '@gantry/streams';
import { eventForms, type WatchItem } from '../../cache/object-response.ts';
import { joinPieces, type Slab, STALLED_MS, waitForDrain } from '../../http/send-pieces.ts';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { OutputForm } from '../../http/negotiate.ts';
import { partialFrame, partialFrameOf } from './protobuf-frame.ts';
import { setCommonHeaders } from '../../http/respond.ts';
import { type IncludeObject, parseIncludeObject, partialMetadata, table, type Tables } from './table.ts';

/** Bytes for a WebSocket that may wait for its client. */
const UNSENT_BYTES = 128 * 1024;

interface StreamOptions {
  readonly definition: ResourceDefinition;
  readonly form: OutputForm;
  readonly clock: Clock;
  readonly tables: Tables;
  readonly logger: Logger;
  /** Called when the client of a WebSocket has left. */
  readonly left: () => void;
}

/**
 * Writes a watch to the client until it ends, is aborted, or the client stalls. An error becomes an ERROR event. A client that asks for a
 * WebSocket gets each event as a message.
 */
export async function sendWatch(
  exchange: AuthenticatedExchange,
  items: AsyncIterable<readonly WatchItem[]>,
  options: StreamOptions,
): Promise<void> {
  const encode = createEncoder(exchange, options);
  const { res, signal } = exchange;
  const upgrade = upgradeOf(exchange.req);
  if (upgrade !== undefined) {
    await sendMessages(exchange, upgrade, items, { ...options, encode });
    return;
  }
  res.statusCode = 200;
  res.setHeader('content-type', streamType(options.form));
  setCommonHeaders(exchange);
  res.flushHeaders();
  exchange.audit.started(200);
  try {
    for await (const batch of items) {
      if (signal.aborted || res.destroyed) break;
      for (const { bytes, release } of slabsOf(batch, encode)) {
        if (!res.write(bytes, release)) await waitForDrain(exchange, options.clock);
        if (signal.aborted || res.destroyed) break;
      }
    }
  } catch (error) {
    if (!signal.aborted && !res.destroyed) res.write(encode.error(toStatusError(error, options.logger)));
  }
  res.end();
}

async function sendMessages(
  exchange: AuthenticatedExchange,
  upgrade: Upgrade,
  items: AsyncIterable<readonly WatchItem[]>,
  { encode, form, clock, logger, left }: StreamOptions & { readonly encode: Encoder },
): Promise<void> {
  const { signal } = exchange;
  let messages: ByteMessages;
  try {
    const type = form.mediaType === 'application/vnd.kubernetes.protobuf' ? 'binary' : 'text';
    messages = openEventMessages(exchange, upgrade, type);
  } catch (error) {
    if (!(error instanceof HandshakeError)) throw error;
    throw StatusError.badRequest(`WebSocket: ${error.message}`);
  }
  messages.ended.addEventListener('abort', left, { once: true });
  exchange.audit.started(101);
  try {
    for await (const batch of items) {
      if (signal.aborted) break;
      if (await sendFrames(messages, framesOf(batch, encode), clock)) continue;
      upgrade.socket.destroy();
      break;
    }
  } catch (error) {
    if (!signal.aborted) await messages.send(encode.error(toStatusError(error, logger)));
  }
  messages.close('complete');
}

/** Sends frames, and waits for the client after each `UNSENT_BYTES`. False when it stalls. */
export async function sendFrames(messages: ByteMessages, frames: Iterable<Uint8Array>, clock: Clock): Promise<boolean> {
  let [sent, unsent] = [Promise.resolve(), 0];
  for (const frame of frames) {
    sent = messages.send(frame);
    unsent += frame.length;
    if (unsent < UNSENT_BYTES) continue;
    if (messages.ended.aborted || !(await settlesWithin(clock, sent, STALLED_MS))) return false;
    unsent = 0;
  }
  return await settlesWithin(clock, sent, STALLED_MS);
}

const NOTHING = () => undefined;

/** The frames of a batch, joined. Mostly there is one event, whose shared bytes are sent as they are. */
function slabsOf(batch: readonly WatchItem[], encode: Encoder): Iterable<Slab> {
  const [only] = batch;
  if (only === undefined || batch.length > 1) return joinPieces(framesOf(batch, encode));
  return [{ bytes: encode.item(only), release: NOTHING }];
}

function* framesOf(batch: readonly WatchItem[], encode: Encoder): Generator<Uint8Array> {
  for (const item of batch) yield encode.item(item);
}

function streamType(form: OutputForm): string {
  return form.mediaType === 'application/vnd.kubernetes.protobuf'
    ? `${form.mediaType};stream=watch`
    : 'application/json';
}

function toStatusError(error: unknown, logger: Logger): StatusError {
  if (error instanceof StatusError) return error;
  logger.error({ err: error }, 'a watch failed');
  return StatusError.internal(errorMessage(error));
}

interface Encoder {
  item(item: WatchItem): Uint8Array;
  error(error: StatusError): Uint8Array;
}

function createEncoder(exchange: Exchange, options: StreamOptions): Encoder {
  if (options.form.mediaType === 'application/vnd.kubernetes.protobuf') return protobufEncoder(options);
  if (options.form.shape === 'table') return tableEncoder(options, parseIncludeObject(exchange.query));
  return jsonEncoder(options);
}

const AFTER = Buffer.from('}\n');

function line(type: string, object: unknown): Buffer {
  return Buffer.from(`{"type":"${type}","object":${goJson(object)}}\n`);
}

function jsonEncoder({ definition, form }: StreamOptions): Encoder {
  const partial = form.shape === 'partial' || form.shape === 'partial-list';
  const names = eventForms(partial ? `json/${form.metaVersion}` : 'json');
  return {
    error: (error) => line('ERROR', error.toStatus()),
    item: (item) => {
      if (item.type === 'BOOKMARK') {
        const bookmark = bookmarkOf(definition, item);
        return line('BOOKMARK', partial ? partialMetadata(definition, bookmark, form.metaVersion) : bookmark);
      }
      const { type, response } = item;
      if (partial) {
        const make = () => line(type, partialMetadata(definition, response.object, form.metaVersion));
        return response.form(names[type], make);
      }
      const make = () => Buffer.concat([Buffer.from(`{"type":"${type}","object":`), response.json(), AFTER]);
      return response.form(names[type], make);
    },
  };
}

function tableEncoder({ definition, form, tables }: StreamOptions, include: IncludeObject): Encoder {
  let columns: Json[] | null = tables.columns(definition);
  const event = (type: string, rows: JsonObject[], resourceVersion: string): Buffer => {
    const bytes = line(type, table(form.metaVersion, columns, rows, { resourceVersion }));
    columns = null;
    return bytes;
  };
  return {
    error: (error) => line('ERROR', error.toStatus()),
    item: (item) => {
      if (item.type === 'BOOKMARK') {
        const bookmark = bookmarkOf(definition, item);
        const object =
          include === 'None'
            ? null
            : include === 'Object'
              ? bookmark
              : partialMetadata(definition, bookmark, form.metaVersion);
        return event('BOOKMARK', [{ cells: [], object: object as Json }], String(item.resourceVersion));
      }
      const { object } = item.response;
      const row = tables.row(definition, object, include, form.metaVersion);
      return event(item.type, [row], object.metadata.resourceVersion ?? '');
    },
  };
}

function protobufEncoder({ definition, form }: StreamOptions): Encoder {
  const partial = form.shape === 'partial' || form.shape === 'partial-list';
  const metaApi = `meta.k8s.io/${form.metaVersion}`;
  const names = eventForms(partial ? `protobuf/${form.metaVersion}` : 'protobuf');
  return {
    error: (error) => encodeWatchFrame('ERROR', encodeProtobuf(error.toStatus())),
    item: (item) => {
      if (item.type !== 'BOOKMARK') {
        const { type, response } = item;
        if (!partial) return response.form(names[type], () => encodeWatchFrame(type, response.protobuf()));
        const make = () => encodeWatchFrame(type, partialFrameOf(definition, metaApi, response));
        return response.form(names[type], make);
      }
      const bytes = encodeProtobuf(bookmarkOf(definition, item));
      return encodeWatchFrame('BOOKMARK', partial ? partialFrame(metaApi, bytes) : bytes);
    },
  };
}

type Bookmark = Extract<WatchItem, { type: 'BOOKMARK' }>;

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

function bookmarkOf(definition: ResourceDefinition, item: Bookmark): KubeObject {
  return {
    kind: definition.kind,
    apiVersion: apiVersionOf(definition),
    metadata: {
      resourceVersion: String(item.resourceVersion),
      ...(item.initialEventsEnd ? { annotations: { [INITIAL_EVENTS_END]: 'true' } } : {}),
    },
  };
}
