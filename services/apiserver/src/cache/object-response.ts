import { goJson, type KubeObject } from '@gantry/objects';
import type { RetainedBytes, Retainer } from './retained-bytes.ts';
import type { ResourceVersion } from '../storage/object-store.ts';

/** An event of a watch. */
export interface EventItem {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly response: ObjectResponse;
}

/** One item of a watch. */
export type WatchItem =
  | EventItem
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: ResourceVersion; readonly initialEventsEnd: boolean };

const LINE_END = 0x0a;

/** An object and its encoded forms. The object is shared, so callers must not change it. */
export interface ObjectResponse {
  readonly object: KubeObject;
  /** JSON bytes as Go writes them, encoded once per revision and shared. They begin with `{"kind":…,"apiVersion":…,` in this order. */
  json(): Uint8Array;
  /** The JSON bytes with the line break that Kubernetes adds to a JSON body. The memory is shared with `json`. */
  jsonLine(): Uint8Array;
  /** `application/vnd.kubernetes.protobuf` bytes with the envelope, encoded once per revision and shared. */
  protobuf(): Uint8Array;
  /** Any other shared bytes, created once by `make` and identified by `name`. */
  form(name: string, make: () => Uint8Array): Uint8Array;
}

/** Names of shared forms of events, by type: a name that is put together for each event would be hashed for each event and watch. */
export function eventForms(prefix: string): Readonly<Record<EventItem['type'], string>> {
  return { ADDED: `${prefix}/ADDED`, MODIFIED: `${prefix}/MODIFIED`, DELETED: `${prefix}/DELETED` };
}

/** Encodes an object as protobuf, with the envelope. */
export type EncodeProtobuf = (object: KubeObject) => Uint8Array;

/**
 * An object and its encoded forms. Each is encoded once while there is memory to keep it. The JSON begins with
 * `{"kind":…,"apiVersion":…,` in this order, so that a list can remove both from its items without parsing.
 */
export class SharedResponse implements ObjectResponse, Retainer {
  readonly object: KubeObject;
  readonly #encode: EncodeProtobuf;
  readonly #retained: RetainedBytes | undefined;
  #forms: Map<string, Uint8Array> | undefined;

  /** Without `retained`, the bytes are kept as long as the response. This is for the response of a single request. */
  constructor(object: KubeObject, encode: EncodeProtobuf, retained?: RetainedBytes) {
    this.object = object;
    this.#encode = encode;
    this.#retained = retained;
  }

  json(): Uint8Array {
    return this.jsonLine().subarray(0, -1);
  }

  jsonLine(): Uint8Array {
    return this.form('json', () => encodeJson(this.object));
  }

  protobuf(): Uint8Array {
    return this.form('protobuf', () => this.#encode(this.object));
  }

  form(name: string, make: () => Uint8Array): Uint8Array {
    const known = this.#forms?.get(name);
    if (known !== undefined) return known;
    const bytes = make();
    this.#forms ??= new Map();
    this.#forms.set(name, bytes);
    this.#retained?.add(this, name, bytes.length);
    return bytes;
  }

  release(form: string): void {
    this.#forms?.delete(form);
  }
}

function encodeJson(object: KubeObject): Uint8Array {
  const { kind, apiVersion, ...rest } = object;
  const text = goJson({ kind, apiVersion, ...rest });
  // Writing into the buffer avoids a second copy. The buffer has its own memory, since a part of a shared slab would keep the whole slab.
  const size = Buffer.byteLength(text);
  const line = Buffer.allocUnsafeSlow(size + 1);
  line.write(text);
  line[size] = LINE_END;
  return line;
}
