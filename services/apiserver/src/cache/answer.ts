import type { KubeObject } from '@gantry/api';
import type { Answer } from '../driver.ts';

const encoder = new TextEncoder();

/** Makes the protobuf bytes of an object, envelope included. */
export type EncodeProtobuf = (object: KubeObject) => Uint8Array;

/**
 * An object and the bytes made from it, each at most once. The JSON begins with `{"kind":…,"apiVersion":…,` in this order, so
 * that a list can cut both off its items without parsing.
 */
export class SharedAnswer implements Answer {
  readonly object: KubeObject;
  readonly #encode: EncodeProtobuf;
  #json: Uint8Array | undefined;
  #protobuf: Uint8Array | undefined;

  constructor(object: KubeObject, encode: EncodeProtobuf) {
    this.object = object;
    this.#encode = encode;
  }

  json(): Uint8Array {
    this.#json ??= encodeJson(this.object);
    return this.#json;
  }

  protobuf(): Uint8Array {
    this.#protobuf ??= this.#encode(this.object);
    return this.#protobuf;
  }
}

function encodeJson(object: KubeObject): Uint8Array {
  const { kind, apiVersion, ...rest } = object;
  return encoder.encode(JSON.stringify({ kind, apiVersion, ...rest }));
}
