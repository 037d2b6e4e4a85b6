import { describe, expect, it } from 'vitest';
import { decodeObject, decodeProtobuf, encodeProtobuf, normaliseShape } from '@gantry/apimachinery';
import { resources } from '../registry.ts';
import { widgets } from '../testing/example-kind.ts';
import { randomObject } from '../testing/random-object.ts';
import { type KubeObject, apiVersionOf, cloneJson } from '@gantry/objects';

const RUNS = 25;

// CustomResourceDefinition is left out: its schemas have values of several forms, which random values do not match.
const kinds = [...resources, widgets]
  .filter(({ kind }) => kind !== 'CustomResourceDefinition')
  .map((definition) => [`${apiVersionOf(definition)} ${definition.kind}`, definition] as const);
const ofKubernetes = kinds.filter(([, { publishedSchema }]) => publishedSchema === undefined);
const ours = kinds.filter(([, { publishedSchema }]) => publishedSchema !== undefined);

describe('JSON to protobuf and back', () => {
  it.each(ofKubernetes)('gives the same %s', (_, definition) => {
    for (let seed = 1; seed <= RUNS; seed++) {
      const object = normaliseShape(randomObject(definition, seed), definition.schema);
      const back = normaliseShape(decodeProtobuf(encodeProtobuf(cloneJson(object))), definition.schema);
      expect(back, `seed ${seed}`).toEqual(object);
    }
  });
});

// Our own kinds have no protobuf encoding: client, server and store use JSON.
describe('JSON of our own kinds', () => {
  it.each(ours)('loses nothing of %s, and stays as it was read', (_, definition) => {
    const read = (object: KubeObject): KubeObject => {
      const bytes = Buffer.from(JSON.stringify(object));
      return decodeObject({ bytes, mediaType: 'application/json', definition, mode: 'Strict' }).object;
    };
    for (let seed = 1; seed <= RUNS; seed++) {
      const { metadata: _metadata, ...random } = randomObject(definition, seed);
      const object = read({ ...random, metadata: { name: 'a' } });
      expect(object, `seed ${seed}`).toMatchObject(random);
      expect(read(cloneJson(object)), `seed ${seed}`).toEqual(object);
    }
  });

  it.each(ours)('is the only form of %s', (_, definition) => {
    expect(() => encodeProtobuf(randomObject(definition, 1))).toThrow('has no protobuf form');
  });
});
