import type { ResourceDefinition } from '@gantry/apimachinery';
import { apiVersionOf, goJson, type JsonObject, type KubeObject } from '@gantry/objects';
import type { ObjectResponse } from '../../cache/object-response.ts';

const COMMA = Buffer.from(',');
const OPEN = Buffer.from('{');
const NEXT_OPEN = Buffer.from(',{');

/** The JSON of a list, from the shared bytes of its items. */
export function* sharedItems(head: JsonObject, items: readonly ObjectResponse[]): Generator<Uint8Array> {
  yield opening(head);
  for (const [index, item] of items.entries()) {
    if (index > 0) yield COMMA;
    yield item.json();
  }
  yield Buffer.from(']}\n');
}

/** Like `sharedItems`, without kind and apiVersion of the items. Each item begins with them, so they are removed without parsing. */
export function* sharedBareItems(
  head: JsonObject,
  items: readonly ObjectResponse[],
  definition: ResourceDefinition,
): Generator<Uint8Array> {
  const { kind } = definition;
  const type = Buffer.from(`${goJson({ kind, apiVersion: apiVersionOf(definition) }).slice(0, -1)},`);
  yield opening(head);
  for (const [index, item] of items.entries()) {
    const bytes = item.json();
    if (beginsWith(bytes, type)) {
      yield index > 0 ? NEXT_OPEN : OPEN;
      yield bytes.subarray(type.length);
    } else {
      if (index > 0) yield COMMA;
      yield Buffer.from(goJson(withoutType(item.object)));
    }
  }
  yield Buffer.from(']}\n');
}

/** The object as an item of a list, without kind and apiVersion. */
export function withoutType(object: KubeObject): JsonObject {
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
  return rest as JsonObject;
}

function opening(head: JsonObject): Uint8Array {
  return Buffer.from(`${goJson(head).slice(0, -1)},"items":[`);
}

/** Compares byte by byte: for few bytes, a native comparison is slower because of its call. */
function beginsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  for (let at = 0; at < start.length; at++) if (bytes[at] !== start[at]) return false;
  return true;
}
