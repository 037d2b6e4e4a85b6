import { describe, expect, it } from 'vitest';
import { formatFieldError } from '@gantry/objects';
import { fillDefaults } from './codec.ts';
import { hasFormat } from './formats.ts';
import { parseJsonPath } from './json-path.ts';
import type { JsonSchema } from '@gantry/apimachinery';
import { validateUniqueItems } from './list-uniqueness.ts';
import { matchesPattern, patternError } from './pattern.ts';
import { validateValue } from './validate-value.ts';
import { pruneResource } from './prune.ts';

const inSpec = (schema: JsonSchema): JsonSchema => ({ type: 'object', properties: { x: schema } });
const errorsOf = (value: unknown, schema: JsonSchema) =>
  validateValue({ x: value }, inSpec(schema)).map((error) => `${error.field}: ${formatFieldError(error)}`);

describe('what a schema says of a value', () => {
  const int: JsonSchema = { type: 'integer' };
  const text: JsonSchema = { type: 'string' };
  it.each<[string, unknown, JsonSchema, string[]]>([
    ['a type', 'a', int, ['x: Invalid value: "string": x in body must be of type integer: "string"']],
    ['a null', null, int, ['x: Invalid value: "null": x in body must be of type integer: "null"']],
    ['a null that may be', null, { type: 'integer', nullable: true }, []],
    ['a whole number', 1, { type: 'number' }, []],
    [
      'a fraction',
      1.5,
      int,
      [
        'x: Invalid value: "number": x in body must be of type integer: "number"',
        'x: Invalid value: "": Checked value must be of type integer (default format) in x',
      ].slice(0, 1),
    ],
    [
      'a maximum',
      3,
      { type: 'integer', maximum: 2 },
      ['x: Invalid value: 3: x in body should be less than or equal to 2'],
    ],
    ['an integer beyond the exact range of doubles', 2n ** 53n + 1n, int, []],
    ['one that a double can hold', 1e18, int, []],
    ['a number beyond 64 bits', 1e19, int, ['x: Invalid value: "number": x in body must be of type integer: "number"']],
    [
      'a maximum, exactly',
      2n ** 53n + 1n,
      { type: 'integer', maximum: 2 ** 53 },
      ['x: Invalid value: 9007199254740993: x in body should be less than or equal to 9007199254740992'],
    ],
    [
      'a factor, exactly',
      2n ** 53n + 1n,
      { type: 'integer', multipleOf: 2 },
      ['x: Invalid value: 9007199254740993: x in body should be a multiple of 2'],
    ],
    [
      'an exclusive minimum',
      1,
      { type: 'integer', minimum: 1, exclusiveMinimum: true },
      ['x: Invalid value: 1: x in body should be greater than 1'],
    ],
    ['a length', 'abc', { ...text, maxLength: 2 }, ['x: Too long: may not be more than 2 bytes']],
    ['a pattern', 'b', { ...text, pattern: '^a' }, ['x: Invalid value: "b": x in body should match \'^a\'']],
    ['an enumeration', 'c', { ...text, enum: ['b', 'a'] }, ['x: Unsupported value: "c": supported values: "b", "a"']],
    ['a format', 'x', { ...text, format: 'ipv4' }, ['x: Invalid value: "x": x in body must be of type ipv4: "x"']],
    ['an unknown format', 'x', { ...text, format: 'colour' }, []],
    [
      'too many items',
      [1, 2],
      { type: 'array', items: int, maxItems: 1 },
      ['x: Too many: 2: must have at most 1 item'],
    ],
    [
      'an item',
      ['a'],
      { type: 'array', items: int },
      ['x[0]: Invalid value: "string": x[0] in body must be of type integer: "string"'],
    ],
    ['a missing field', {}, { type: 'object', required: ['y'] }, ['x.y: Required value']],
    [
      'an int or string',
      true,
      { 'x-kubernetes-int-or-string': true },
      ['x: Invalid value: "boolean": x in body must be of type integer,string: "boolean"'],
    ],
    [
      'no alternative',
      5,
      { type: 'integer', not: { minimum: 3 } },
      ['<nil>: Invalid value: "": "x" must not validate the schema (not)'],
    ],
    [
      'one of two',
      5,
      { type: 'integer', oneOf: [{ minimum: 1 }, { minimum: 2 }] },
      ['<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ],
  ])('refuses, or takes, %s', (_name, value, schema, expected) => {
    const found = errorsOf(value, schema);
    if (expected.length === 0) expect(found).toEqual([]);
    else expect(found).toEqual(expect.arrayContaining(expected));
  });

  it('does not ask again about what has not changed', () => {
    const schema = inSpec({ type: 'string', maxLength: 1 });
    expect(validateValue({ x: 'long' }, schema, '', { value: { x: 'long' } })).toEqual([]);
    expect(validateValue({ x: 'longer' }, schema, '', { value: { x: 'long' } })).toHaveLength(1);
  });
});

describe('pruning', () => {
  it('takes out what no schema names, and keeps what may be anything', () => {
    const schema: JsonSchema = {
      type: 'object',
      properties: {
        a: { type: 'object', properties: { b: { type: 'string' } } },
        any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { c: { type: 'object' } } },
        map: { type: 'object', additionalProperties: { type: 'string' } },
      },
    };
    const value = { kind: 'K', z: 1, a: { b: 'x', y: 1 }, any: { q: 1, c: { r: 1 } }, map: { k: 'v' } };
    expect(pruneResource(value, schema)).toEqual(['a.y', 'any.c.r', 'z']);
    expect(value).toEqual({ kind: 'K', a: { b: 'x' }, any: { q: 1, c: {} }, map: { k: 'v' } });
  });
});

describe('defaults', () => {
  it('stand where nothing is, or a null that may not be', () => {
    const schema: JsonSchema = {
      type: 'object',
      properties: {
        a: { type: 'string', default: 'x' },
        o: { type: 'object', default: {}, properties: { p: { type: 'integer', default: 7 } } },
        n: { type: 'string', nullable: true, default: 'y' },
      },
    };
    const value = { a: null, n: null };
    fillDefaults(value, schema);
    expect(value).toEqual({ a: 'x', o: { p: 7 }, n: null });
  });
});

describe('lists with keys', () => {
  it('report repeated items', () => {
    const list: JsonSchema = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      items: { type: 'object' },
    };
    const errors = validateUniqueItems({ x: [{ k: 'a' }, { k: 'b' }, { k: 'a' }] }, inSpec(list));
    expect(errors.map((error) => `${error.field}: ${formatFieldError(error)}`)).toEqual([
      'x[2]: Duplicate value: {"k":"a"}',
    ]);
  });

  it('report the keys of repeated items sorted', () => {
    const list: JsonSchema = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'host'],
      items: { type: 'object' },
    };
    const item = { port: 1, host: 'h' };
    const [error] = validateUniqueItems({ x: [item, item] }, inSpec(list));
    expect(error && formatFieldError(error)).toBe('Duplicate value: {"host":"h","port":1}');
    const set: JsonSchema = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object' } };
    const [inSet] = validateUniqueItems({ x: [item, item] }, inSpec(set));
    expect(inSet && formatFieldError(inSet)).toBe('Duplicate value: {"host":"h","port":1}');
  });
});

describe('paths, patterns and formats', () => {
  const object = { spec: { n: 1 }, status: { conditions: [{ type: 'Ready', status: 'True' }, { type: 'X' }] } };
  it.each([
    ['.spec.n', 1],
    ['.spec.missing', undefined],
    ['.status.conditions[?(@.type=="Ready")].status', 'True'],
    ['.status.conditions[1].type', 'X'],
    ['.spec[', undefined],
  ])('%s leads to %s', (path, expected) => {
    expect(parseJsonPath(path)(object)).toBe(expected);
  });

  it('takes the syntax of RE2', () => {
    expect(matchesPattern('AB', '(?i)^ab$')).toBe(true);
    expect(matchesPattern('ab', '^[[:alpha:]]+$')).toBe(true);
    expect(patternError('(?=a)')).toContain('error parsing regexp');
    expect(patternError('a')).toBeUndefined();
  });

  it('refuses a pattern that compiles to too many instructions, before it is compiled', () => {
    expect(patternError('[a-z]{1,1000}')).toBeUndefined();
    expect(patternError('[a-z]{1,1000}'.repeat(10))).toBe('error parsing regexp: expression too large');
  });

  it('does not match texts that would take long', () => {
    const demanding = { type: 'string', pattern: '(([ab]{1,30}){1,30}c)*$' };
    expect(validateValue('ab'.repeat(500), demanding)).toEqual([]);
    const refused = { type: 'FieldValueTooLong', field: 'spec.text' };
    expect(validateValue('ab'.repeat(1_000), demanding, 'spec.text')).toMatchObject([refused]);
    const many = Array<string>(20).fill('ab'.repeat(500));
    expect(validateValue(many, { type: 'array', items: demanding }, 'spec')).toHaveLength(18);
    expect(validateValue('a'.repeat(100_000), { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' })).toEqual(
      [],
    );
  });

  it.each([
    ['date-time', '2024-01-01T00:00:00Z', '2024-13-01T00:00:00Z'],
    ['uuid', '0f0f0f0f-0000-4000-8000-000000000000', 'x'],
    ['duration', '1h30m', 'soon'],
    ['cidr', '10.0.0.0/8', '10.0.0.0/40'],
    ['byte', 'YQ==', 'Y'],
    ['hostname', 'a.example', 'a_b!'],
  ])('knows a %s', (format, good, bad) => {
    expect(hasFormat(good, format)).toBe(true);
    expect(hasFormat(bad, format)).toBe(false);
  });
});
