import { describe, expect, it } from 'vitest';
import { formatFieldError } from '@gantry/objects';
import { errorsOf, type JsonSchema, type ValidationRule } from '@gantry/apimachinery';
import { checkExpressions } from '../definition/check-expressions.ts';
import { compileSchemaRules } from './schema-rules.ts';

const PROPERTIES = {
  n: { type: 'integer' },
  'a-b': { type: 'string' },
  l: { type: 'array', items: { type: 'string' } },
  set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
  numbers: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'number' } },
} as const;

const schemaWith = (...rules: readonly ValidationRule[]): JsonSchema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: PROPERTIES, 'x-kubernetes-validations': rules } },
});

function outcome(rule: ValidationRule, spec: object, old?: object): readonly string[] {
  const object = (value: object) => ({ apiVersion: 'g/v1', kind: 'K', metadata: { name: 'x' }, spec: value }) as never;
  const found = errorsOf(compileSchemaRules(schemaWith(rule))?.validate(object(spec), old && object(old)));
  return found.map((error) => `${error.field}: ${formatFieldError(error)}`);
}

describe('rules of custom resources', () => {
  it.each<[string, ValidationRule, object, object | undefined, readonly string[]]>([
    ['hold', { rule: 'self.n > 1' }, { n: 2 }, undefined, []],
    [
      'fail by their text',
      { rule: 'self.n > 1' },
      { n: 1 },
      undefined,
      ['spec: Invalid value: failed rule: self.n > 1'],
    ],
    [
      'fail by their message',
      { rule: 'self.n > 1', message: 'more' },
      { n: 1 },
      undefined,
      ['spec: Invalid value: more'],
    ],
    [
      'compute their message',
      {
        rule: 'self.n > 1',
        messageExpression: '"got " + string(self.n)',
        reason: 'FieldValueForbidden',
        fieldPath: '.n',
      },
      { n: 1 },
      undefined,
      ['spec.n: Forbidden: got 1'],
    ],
    [
      'see integers beyond the exact range of doubles',
      { rule: 'self.n == 9007199254740993 && self.n != 9007199254740992' },
      { n: 2n ** 53n + 1n },
      undefined,
      [],
    ],
    [
      'see them as double where the schema says number',
      { rule: 'self.numbers == dyn([9007199254740992.0])' },
      { numbers: [2n ** 53n + 1n] },
      undefined,
      [],
    ],
    [
      'compare sets of numbers of several types',
      { rule: 'self.numbers == dyn([2, 1])' },
      { numbers: [1, 2] },
      undefined,
      [],
    ],
    ['name properties by escapes', { rule: "self.a__dash__b == 'x'" }, { 'a-b': 'x' }, undefined, []],
    [
      'compare with what was',
      { rule: 'self.n >= oldSelf.n' },
      { n: 1 },
      { n: 2 },
      ['spec: Invalid value: failed rule: self.n >= oldSelf.n'],
    ],
    ['skip transitions of what is new', { rule: 'self.n >= oldSelf.n' }, { n: 1 }, undefined, []],
    [
      'take what was as an optional',
      { rule: 'oldSelf.hasValue()', optionalOldSelf: true },
      { n: 1 },
      undefined,
      ['spec: Invalid value: failed rule: oldSelf.hasValue()'],
    ],
    ['let unchanged values be', { rule: 'self.n > 1' }, { n: 1 }, { n: 1 }, []],
    ['know sets', { rule: "self.set == ['a', 'b']" }, { set: ['b', 'a'] }, undefined, []],
    [
      'report errors',
      { rule: 'self.l[5] == ""' },
      { l: [] },
      undefined,
      ['spec: Invalid value: "object": index out of bounds: 5 evaluating rule: self.l[5] == ""'],
    ],
  ])('%s', (_name, rule, spec, old, expected) => {
    expect(outcome(rule, spec, old)).toEqual(expected);
  });

  it.each(['self.m.size() == 2', 'self.m.all(k, k != "")', 'self.o.all(k, self.m.all(l, self.m.size() == 2))'])(
    'find the keys of a map once for each value: %s',
    (rule) => {
      let asked = 0;
      const ownKeys = (fields: object) => [asked++, Reflect.ownKeys(fields)][1] as string[];
      const map = { type: 'object', additionalProperties: { type: 'string' } };
      const schema = {
        type: 'object',
        properties: { m: map, o: map },
        'x-kubernetes-validations': [{ rule: `[1, 2, 3, 4].all(n, ${rule})` }],
      };
      const object = { m: new Proxy({ b: '1', c: '2' }, { ownKeys }), o: { a: '1', b: '2' } };
      const compiled = compileSchemaRules(schema);
      expect(errorsOf(compiled?.validate(object as never, undefined))).toEqual([]);
      // It is asked once for the rules, and once when the schema traverses the object.
      expect(asked).toBeLessThanOrEqual(2);
    },
  );

  it.each<[string, ValidationRule, RegExp]>([
    ['an undefined field', { rule: 'self.x' }, /compilation failed: ERROR: <input>:1:5: undefined field 'x'/],
    ['another type', { rule: 'self.n' }, /cel expression must evaluate to a bool/],
    [
      'a message of another type',
      { rule: 'true', messageExpression: '1' },
      /messageExpression must evaluate to a string/,
    ],
    [
      'costs without bound',
      { rule: 'self.l.all(x, self.l.all(y, x == y))' },
      /estimated rule cost exceeds budget by factor of more than 100x/,
    ],
    ['an option without use', { rule: 'true', optionalOldSelf: true }, /may not be set if oldSelf is not used in rule/],
  ])('are refused for %s', (_name, rule, text) => {
    expect(
      checkExpressions(schemaWith(rule), 'schema', { isBroken: () => false, costs: 'each' })
        .map(formatFieldError)
        .join('\n'),
    ).toMatch(text);
  });
});
