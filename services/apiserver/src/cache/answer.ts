import type { KubeObject } from '@gantry/api';
import type { Answer } from '../driver.ts';
import type { RetainedBytes, Retainer } from './retained-bytes.ts';

const encoder = new TextEncoder();

/** Makes the protobuf bytes of an object, envelope included. */
export type EncodeProtobuf = (object: KubeObject) => Uint8Array;

/**
 * An object and the bytes made from it, each at most once as long as there is room for them. The JSON begins with
 * `{"kind":…,"apiVersion":…,` in this order, so that a list can cut both off its items without parsing.
 */
export class SharedAnswer implements Answer, Retainer {
  readonly object: KubeObject;
  readonly #encode: EncodeProtobuf;
  readonly #retained: RetainedBytes | undefined;
  #forms: Map<string, Uint8Array> | undefined;

  /** Without `retained`, what is made is kept as long as the answer: one that only a single request sees. */
  constructor(object: KubeObject, encode: EncodeProtobuf, retained?: RetainedBytes) {
    this.object = object;
    this.#encode = encode;
    this.#retained = retained;
  }

  json(): Uint8Array {
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
  return encoder.encode(JSON.stringify({ kind, apiVersion, ...rest }));
}
