import type { ResourceDefinition } from '@gantry/apimachinery';
import { type JsonObject, StatusError } from '@gantry/objects';
import type { ObjectResponse } from '../../cache/object-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { goType, type OutputForm } from '../../http/negotiate.ts';
import { isJsonOnly, noProtobuf, partialFrameOf } from './protobuf-frame.ts';
import { encodeJson, sendBytes, wantsPretty } from '../../http/respond.ts';
import { parseIncludeObject, partialMetadata, table, type Tables } from './table.ts';

/** Options for sending an object. */
export interface ObjectOutput {
  readonly code: number;
  readonly form: OutputForm;
  readonly definition: ResourceDefinition;
  readonly tables: Tables;
}

/** Sends one object in the requested form. Uses its shared bytes if the form allows it. */
export async function sendObject(
  exchange: Exchange,
  response: ObjectResponse,
  { code, form, definition, tables }: ObjectOutput,
): Promise<void> {
  switch (form.shape) {
    case 'table': {
      const include = parseIncludeObject(exchange.query);
      const rows = [tables.row(definition, response.object, include, form.metaVersion)];
      const { resourceVersion } = response.object.metadata;
      const metadata: JsonObject = resourceVersion === undefined ? {} : { resourceVersion };
      await sendValue(exchange, code, table(form.metaVersion, tables.columns(definition), rows, metadata), form);
      return;
    }
    case 'partial':
      if (form.mediaType === 'application/vnd.kubernetes.protobuf') {
        const bytes = partialFrameOf(definition, `meta.k8s.io/${form.metaVersion}`, response);
        await sendBytes(exchange, code, form.mediaType, bytes);
      } else await sendValue(exchange, code, partialMetadata(definition, response.object, form.metaVersion), form);
      return;
    case 'partial-list':
      throw new StatusError(
        'NotAcceptable',
        `you requested PartialObjectMetadataList, but the requested object is not a list (*${goType(definition, '')})`,
      );
    case 'object':
      if (form.mediaType === 'application/vnd.kubernetes.protobuf') {
        if (isJsonOnly(definition, response)) throw noProtobuf();
        await sendBytes(exchange, code, form.mediaType, response.protobuf());
      } else if (form.mediaType === 'application/json' && !wantsPretty(exchange)) {
        await sendBytes(exchange, code, form.mediaType, response.jsonLine());
      } else await sendValue(exchange, code, response.object, form);
      return;
  }
}

function sendValue(exchange: Exchange, code: number, value: unknown, form: OutputForm): Promise<void> {
  const mediaType = form.mediaType === 'application/yaml' ? form.mediaType : 'application/json';
  return sendBytes(exchange, code, mediaType, encodeJson(exchange, value, mediaType));
}
