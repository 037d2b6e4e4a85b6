import { type JsonObject, type ResourceDefinition, StatusError } from '@gantry/api';
import type { Answer } from '../driver.ts';
import type { Exchange } from './exchange.ts';
import { goType, type OutputForm } from './negotiate.ts';
import { isJsonOnly, noProtobuf, partialFrameOf } from './custom-protobuf.ts';
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
      const rows = [tables.row(definition, answer.object, include, form.metaVersion)];
      const { resourceVersion } = answer.object.metadata;
      const metadata: JsonObject = resourceVersion === undefined ? {} : { resourceVersion };
      await sendValue(exchange, code, table(form.metaVersion, tables.columns(definition), rows, metadata), form);
      return;
    }
    case 'partial':
      if (form.mediaType === 'application/vnd.kubernetes.protobuf') {
        const bytes = partialFrameOf(definition, `meta.k8s.io/${form.metaVersion}`, answer);
        await sendBytes(exchange, code, form.mediaType, bytes);
      } else await sendValue(exchange, code, partialMetadata(definition, answer.object, form.metaVersion), form);
      return;
    case 'partial-list':
      throw new StatusError(
        'NotAcceptable',
        `you requested PartialObjectMetadataList, but the requested object is not a list (*${goType(definition, '')})`,
      );
    case 'object':
      if (form.mediaType === 'application/vnd.kubernetes.protobuf') {
        if (isJsonOnly(definition, answer)) throw noProtobuf();
        await sendBytes(exchange, code, form.mediaType, answer.protobuf());
      } else if (form.mediaType === 'application/json' && !wantsPretty(exchange)) {
        await sendBytes(exchange, code, form.mediaType, answer.json());
      } else await sendValue(exchange, code, answer.object, form);
      return;
  }
}

function sendValue(exchange: Exchange, code: number, value: unknown, form: OutputForm): Promise<void> {
  const mediaType = form.mediaType === 'application/yaml' ? form.mediaType : 'application/json';
  return sendBytes(exchange, code, mediaType, encodeJson(exchange, value, mediaType));
}
