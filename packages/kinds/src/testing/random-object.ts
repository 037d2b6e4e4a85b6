import { type ResourceDefinition, type StructType, schemaOf, type Type } from '@gantry/apimachinery';
import { seededRandom } from '@gantry/base';
import { apiVersionOf, type KubeObject } from '@gantry/objects';

const MAX_DEPTH = 7;

function isWhole(type: StructType): boolean {
  return type.fields.has('metadata') && type.fields.has('kind');
}

/** Random values of a schema: each field is present with probability one half; deep values are rare. */
class Generator {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  struct(type: StructType, depth: number): Record<string, unknown> {
    const out: Record<string, unknown> = {};
    for (const { name, type: of, default: preset } of type.fields.values()) {
      // Decoding sets the schema's defaults, and the kind of an embedded claim is not on the wire.
      if (preset !== undefined) out[name] = preset;
      if (preset !== undefined || (depth > 0 && (name === 'kind' || name === 'apiVersion') && isWhole(type))) continue;
      if (depth >= MAX_DEPTH || (depth > 0 && this.#random() < 0.5)) continue;
      out[name] = this.#value(of, depth + 1);
    }
    return out;
  }

  #value(type: Type, depth: number): unknown {
    switch (type.kind) {
      case 'struct':
        return this.struct(type, depth);
      case 'list':
        return Array.from({ length: this.#below(3) }, () => this.#value(type.items, depth));
      case 'map':
        return Object.fromEntries(
          Array.from({ length: this.#below(3) }, (_, i) => [`k${i}`, this.#value(type.values, depth)]),
        );
      case 'any':
        return { a: [1, 'x', { b: true }] };
      case 'scalar':
        return this.#scalar(type.scalar);
    }
  }

  #scalar(scalar: Extract<Type, { kind: 'scalar' }>['scalar']): unknown {
    switch (scalar) {
      case 'string':
        return ['', 'a', 'ü€𝄞', 'longer text'][this.#below(4)];
      case 'bytes':
        return ['aGVsbG8=', 'AAEC'][this.#below(2)];
      case 'boolean':
        return this.#random() < 0.5;
      case 'int32':
        return [0, 1, -1, 2147483647, -2147483648][this.#below(5)];
      case 'int64':
        return [0, 1, -1, 2 ** 40, -(2 ** 40)][this.#below(5)];
      case 'double':
        return [0, 1.5, -2.25][this.#below(3)];
      case 'time':
        return '2030-01-02T03:04:05Z';
      case 'microTime':
        return '2030-01-02T03:04:05.123456Z';
      case 'quantity':
        return ['0', '100m', '1Gi', '3'][this.#below(4)];
      case 'intOrString':
        return [0, 7, '25%'][this.#below(3)];
    }
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }
}

/** An object of a kind with random values of its schema; it need not be valid. Not for CustomResourceDefinitions. */
export function randomObject(definition: ResourceDefinition, seed: number): KubeObject {
  const random = new Generator(seed).struct(schemaOf(definition.schema), 0);
  return { ...random, kind: definition.kind, apiVersion: apiVersionOf(definition) } as KubeObject;
}
