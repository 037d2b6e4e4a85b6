import { apiVersionOf, type JsonObject, type KubeObject, type ResourceDefinition, StatusError } from '@gantry/api';
import type { Answer, ListAnswer } from '../driver.ts';
import type { Exchange } from './exchange.ts';
import type { OutputForm } from './negotiate.ts';
import { listFrame, partialFrame } from './protobuf-frame.ts';
import { encodeJson, sendBytes, wantsPretty } from './respond.ts';
import { parseIncludeObject, partialMetadata, table, type Tables } from './table.ts';

/** Sends one object in the form that was asked for; its shared bytes as they are where the form allows. */
export async function sendObject(
  exchange: Exchange,
  code: number,
  answer: Answer,
  form: OutputForm,
  definition: ResourceDefinition,
  tables: Tables,
): Promise<void> {
  switch (form.shape) {
    case 'table': {
      const include = parseIncludeObject(exchange.query);
      const rows = [tables.row(definition, answer.object, include)];
      const { resourceVersion } = answer.object.metadata;
      const metadata: JsonObject = resourceVersion === undefined ? {} : { resourceVersion };
      await sendValue(exchange, code, table(form.metaVersion, tables.columns(definition), rows, metadata), form);
      return;
    }
    case 'partial':
      if (form.mediaType === 'application/vnd.kubernetes.protobuf') {
        const bytes = partialFrame(`meta.k8s.io/${form.metaVersion}`, answer.protobuf());
        await sendBytes(exchange, code, form.mediaType, bytes);
      } else await sendValue(exchange, code, partialMetadata(answer.object, form.metaVersion), form);
      return;
    case 'partial-list':
      throw new StatusError(
        'NotAcceptable',
        `you requested PartialObjectMetadataList, but the requested object is not a list (${answer.object.kind})`,
      );
    case 'object':
      if (form.mediaType === 'application/vnd.kubernetes.protobuf') {
        await sendBytes(exchange, code, form.mediaType, answer.protobuf());
      } else if (form.mediaType === 'application/json' && !wantsPretty(exchange)) {
        await sendBytes(exchange, code, form.mediaType, answer.json());
      } else await sendValue(exchange, code, answer.object, form);
      return;
  }
}

/** Sends a list in the form that was asked for. */
export async function sendList(
  exchange: Exchange,
  list: ListAnswer,
  form: OutputForm,
  definition: ResourceDefinition,
  tables: Tables,
): Promise<void> {
  const apiVersion = apiVersionOf(definition);
  const kind = `${definition.kind}List`;
  const protobuf = form.mediaType === 'application/vnd.kubernetes.protobuf';
  switch (form.shape) {
    case 'table': {
      const include = parseIncludeObject(exchange.query);
      const rows = list.items.map((item) => tables.row(definition, item.object, include));
      const value = table(form.metaVersion, tables.columns(definition), rows, listMeta(list));
      await sendValue(exchange, 200, value, form);
      return;
    }
    case 'partial':
      throw new StatusError(
        'NotAcceptable',
        `you requested PartialObjectMetadata, but the requested object is a list (*${definition.version}.${kind})`,
      );
    case 'partial-list': {
      const metaApi = `meta.k8s.io/${form.metaVersion}`;
      if (protobuf) {
        const items = list.items.map((item) => partialFrame(metaApi, item.protobuf()));
        const bytes = listFrame(metaApi, 'PartialObjectMetadataList', protobufMeta(list), items);
        await sendBytes(exchange, 200, form.mediaType, bytes);
        return;
      }
      const items = list.items.map((item) => partialMetadata(item.object, form.metaVersion));
      const value = { kind: 'PartialObjectMetadataList', apiVersion: metaApi, metadata: listMeta(list), items };
      await sendValue(exchange, 200, value, form);
      return;
    }
    case 'object':
      if (protobuf) {
        const items = list.items.map((item) => item.protobuf());
        await sendBytes(exchange, 200, form.mediaType, listFrame(apiVersion, kind, protobufMeta(list), items));
      } else if (form.mediaType === 'application/json' && !wantsPretty(exchange)) {
        await sendBytes(exchange, 200, form.mediaType, joinItems(apiVersion, kind, list));
      } else {
        const items = list.items.map((item) => withoutType(item.object));
        await sendValue(exchange, 200, { kind, apiVersion, metadata: listMeta(list), items }, form);
      }
      return;
  }
}

function sendValue(exchange: Exchange, code: number, value: unknown, form: OutputForm): Promise<void> {
  const mediaType = form.mediaType === 'application/yaml' ? form.mediaType : 'application/json';
  return sendBytes(exchange, code, mediaType, encodeJson(exchange, value, mediaType));
}

function listMeta(list: ListAnswer): JsonObject {
  return {
    resourceVersion: String(list.resourceVersion),
    ...(list.continueToken === '' ? {} : { continue: list.continueToken }),
    ...(list.remainingItemCount === undefined ? {} : { remainingItemCount: list.remainingItemCount }),
  };
}

function protobufMeta(list: ListAnswer): {
  resourceVersion: string;
  continueToken: string;
  remaining: number | undefined;
} {
  return {
    resourceVersion: String(list.resourceVersion),
    continueToken: list.continueToken,
    remaining: list.remainingItemCount,
  };
}

function withoutType(object: KubeObject): object {
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
  return rest;
}

const COMMA = Buffer.from(',');
const OPEN = Buffer.from('{');

/** A list's JSON from its items' shared bytes: kind and apiVersion, with which they begin, are cut off unread. */
function joinItems(apiVersion: string, kind: string, list: ListAnswer): Buffer {
  const head = `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":${JSON.stringify(listMeta(list))},"items":[`;
  const parts: Uint8Array[] = [Buffer.from(head)];
  for (const [index, item] of list.items.entries()) {
    if (index > 0) parts.push(COMMA);
    parts.push(...cutType(item));
  }
  parts.push(Buffer.from(']}\n'));
  return Buffer.concat(parts);
}

function cutType(item: Answer): readonly Uint8Array[] {
  const { kind, apiVersion } = item.object;
  const prefix = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;
  const bytes = item.json();
  const starts = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, prefix.length));
  if (starts.toString('latin1') === prefix) return [OPEN, bytes.subarray(prefix.length)];
  return [Buffer.from(JSON.stringify(withoutType(item.object)))];
}
