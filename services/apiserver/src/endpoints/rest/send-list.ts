import type { Clock } from '@gantry/base';
import { hasProtobuf, type ResourceDefinition } from '@gantry/apimachinery';
import { apiVersionOf, goJson, type JsonObject, StatusError } from '@gantry/objects';
import type { ListResponse } from '../../registry/index.ts';
import type { ObjectResponse } from '../../cache/object-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { formatYaml } from '../../http/go-yaml.ts';
import { goType, type OutputForm } from '../../http/negotiate.ts';
import { listPieces, noProtobuf, partialFrameOf } from './protobuf-frame.ts';
import { wantsPretty } from '../../http/respond.ts';
import { sendPieces } from '../../http/send-pieces.ts';
import { sharedBareItems, sharedItems, withoutType } from './shared-items.ts';
import { parseIncludeObject, partialMetadata, table, type Tables } from './table.ts';

/** Sends a list in the requested form, item by item. */
export async function sendList(
  exchange: Exchange,
  list: ListResponse,
  form: OutputForm,
  definition: ResourceDefinition,
  { tables, clock }: { readonly tables: Tables; readonly clock: Clock },
): Promise<void> {
  const pieces = piecesOf(exchange, list, form, definition, tables);
  await sendPieces(exchange, form.shape === 'table' ? tableType(form) : form.mediaType, pieces, clock);
}

function tableType({ mediaType }: OutputForm): string {
  return mediaType === 'application/yaml' ? mediaType : 'application/json';
}

function piecesOf(
  exchange: Exchange,
  list: ListResponse,
  form: OutputForm,
  definition: ResourceDefinition,
  tables: Tables,
): Iterable<Uint8Array> {
  const write = writerOf(exchange, form);
  const metaApi = `meta.k8s.io/${form.metaVersion}`;
  const protobuf = form.mediaType === 'application/vnd.kubernetes.protobuf';
  switch (form.shape) {
    case 'table': {
      const include = parseIncludeObject(exchange.query);
      const { rows: _rows, ...head } = table(form.metaVersion, tables.columns(definition), [], listMeta(list));
      return write(head, 'rows', list.items, (item) => tables.row(definition, item.object, include, form.metaVersion));
    }
    case 'partial':
      throw new StatusError(
        'NotAcceptable',
        `you requested PartialObjectMetadata, but the requested object is a list (*${goType(definition, 'List')})`,
      );
    case 'partial-list': {
      const kind = 'PartialObjectMetadataList';
      if (protobuf) {
        const items = list.items.map((item) => partialFrameOf(definition, metaApi, item));
        return listPieces(metaApi, kind, protobufMeta(list), items);
      }
      const head = { kind, apiVersion: metaApi, metadata: listMeta(list) };
      return write(head, 'items', list.items, ({ object }) => partialMetadata(definition, object, form.metaVersion));
    }
    case 'object': {
      const kind = definition.listKind ?? `${definition.kind}List`;
      const apiVersion = apiVersionOf(definition);
      const isCustom = definition.publishedSchema !== undefined;
      if (protobuf && !hasProtobuf(definition)) throw noProtobuf();
      if (protobuf) {
        const items = list.items.map((item) => item.protobuf());
        return listPieces(apiVersion, kind, protobufMeta(list), items);
      }
      const metadata = listMeta(list);
      // Lists of custom resources have `continue` also on the last page, where it is empty.
      const head = { kind, apiVersion, metadata: isCustom ? { continue: '', ...metadata } : metadata };
      if (form.mediaType === 'application/json' && !wantsPretty(exchange)) {
        return isCustom ? sharedItems(head, list.items) : sharedBareItems(head, list.items, definition);
      }
      return write(head, 'items', list.items, ({ object }) =>
        isCustom ? (object as JsonObject) : withoutType(object),
      );
    }
  }
}

function listMeta(list: ListResponse): JsonObject {
  return {
    ...(list.resourceVersion === 0 ? {} : { resourceVersion: String(list.resourceVersion) }),
    ...(list.continueToken === '' ? {} : { continue: list.continueToken }),
    ...(list.remainingItemCount === undefined ? {} : { remainingItemCount: list.remainingItemCount }),
  };
}

function protobufMeta(list: ListResponse): {
  resourceVersion: string;
  continueToken: string;
  remaining: number | undefined;
} {
  return {
    resourceVersion: list.resourceVersion === 0 ? '' : String(list.resourceVersion),
    continueToken: list.continueToken,
    remaining: list.remainingItemCount,
  };
}

/** Writes `head` with one more member: an array whose items are produced one by one. */
type ListWriter = (
  head: JsonObject,
  member: string,
  items: readonly ObjectResponse[],
  valueOf: (item: ObjectResponse) => JsonObject,
) => Iterable<Uint8Array>;

function writerOf(exchange: Exchange, form: OutputForm): ListWriter {
  if (form.mediaType === 'application/yaml') return yamlPieces;
  return wantsPretty(exchange) ? prettyPieces : compactPieces;
}

function* compactPieces(...[head, member, items, valueOf]: Parameters<ListWriter>): Generator<Uint8Array> {
  yield Buffer.from(`${goJson(head).slice(0, -1)},"${member}":[`);
  for (const [index, item] of items.entries()) {
    yield Buffer.from(`${index > 0 ? ',' : ''}${goJson(valueOf(item))}`);
  }
  yield Buffer.from(']}\n');
}

function* prettyPieces(...[head, member, items, valueOf]: Parameters<ListWriter>): Generator<Uint8Array> {
  if (items.length === 0) {
    yield Buffer.from(goJson({ ...head, [member]: [] }, 2));
    return;
  }
  yield Buffer.from(`${goJson(head, 2).slice(0, -2)},\n  "${member}": [`);
  for (const [index, item] of items.entries()) {
    const text = goJson(valueOf(item), 2).replaceAll('\n', '\n    ');
    yield Buffer.from(`${index > 0 ? ',' : ''}\n    ${text}`);
  }
  yield Buffer.from('\n  ]\n}');
}

function* yamlPieces(...[head, member, items, valueOf]: Parameters<ListWriter>): Generator<Uint8Array> {
  const named = Object.entries(head).filter(([, value]) => value !== undefined);
  const part = (entries: typeof named) => (entries.length === 0 ? '' : formatYaml(Object.fromEntries(entries)));
  const before = part(named.filter(([name]) => name < member));
  yield Buffer.from(items.length === 0 ? `${before}${member}: []\n` : `${before}${member}:\n`);
  for (const item of items) yield Buffer.from(formatYaml([valueOf(item)]));
  yield Buffer.from(part(named.filter(([name]) => name > member)));
}
