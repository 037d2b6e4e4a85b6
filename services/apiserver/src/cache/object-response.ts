import { goJson, type KubeObject } from '@gantry/objects';
import type { RetainedBytes, Retainer } from './retained-bytes.ts';
import type { ResourceVersion } from '../storage/object-store.ts';

/** One item of a watch. */
export type WatchItem =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly response: ObjectResponse }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: ResourceVersion; readonly initialEventsEnd: boolean };

const LINE_END = 0x0a;

/** What a response is made of: the object, shared and frozen by convention, and the bytes made from it so far. */
export interface ObjectResponse {
  readonly object: KubeObject;
  /** JSON bytes as Go writes them, made once per revision and shared. They begin with `{"kind":…,"apiVersion":…,` in this order. */
  json(): Uint8Array;
  /** The same with the line end that Kubernetes puts after a JSON body. The bytes are shared with `json`. */
  jsonLine(): Uint8Array;
  /** `application/vnd.kubernetes.protobuf` bytes, envelope included, made once per revision and shared. */
  protobuf(): Uint8Array;
  /** Any other bytes that many may share, made once by `make` and known by their name. */
  form(name: string, make: () => Uint8Array): Uint8Array;
}

/** Makes the protobuf bytes of an object, envelope included. */
export type EncodeProtobuf = (object: KubeObject) => Uint8Array;

/**
 * An object and the bytes made from it, each at most once as long as there is room for them. The JSON begins with
 * `{"kind":…,"apiVersion":…,` in this order, so that a list can cut both off its items without parsing.
 */
export class SharedResponse implements ObjectResponse, Retainer {
  readonly object: KubeObject;
  readonly #encode: EncodeProtobuf;
  readonly #retained: RetainedBytes | undefined;
  #forms: Map<string, Uint8Array> | undefined;

  /** Without `retained`, the bytes are kept as long as the response: one that only a single request sees. */
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
  // Not by a longer text, which would be copied to be encoded. Of its own memory: a piece of a shared slab would keep the slab.
  const size = Buffer.byteLength(text);
  const line = Buffer.allocUnsafeSlow(size + 1);
  line.write(text);
  line[size] = LINE_END;
  return line;
}
