import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { must } from '@gantry/base';
import { describe, expect, it } from 'vitest';
import type { StructType } from './schema/type-schema.ts';
import { labelSelectorFrom, parseLabelSelector, StatusError } from '@gantry/objects';
import { fieldLabelsOf, parseFieldSelector } from './field-selector.ts';

interface Item {
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
}
interface Step {
  readonly about: string;
  readonly setup?: boolean;
  readonly path: string;
  readonly body?: Item;
  readonly want: {
    readonly code: number;
    readonly status?: { readonly message: string };
    readonly body?: { items: Item[] };
  };
}

const recordings = readFileSync(new URL('../../../integration-tests/golden/request.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { id: string; steps: Step[] });

const CUSTOM = { kind: 'struct', goType: 'Custom', name: 'Custom', fields: {} } as unknown as StructType;

const TYPE: Readonly<Record<string, () => string>> = { type: () => '' };

function labelled(kind: Partial<Parameters<typeof fieldLabelsOf>[0]> = {}): Parameters<typeof fieldLabelsOf>[0] {
  return { group: '', version: 'v1', namespaced: true, schema: 'Thing', selectableFields: {}, ...kind };
}

function recorded(id: string) {
  const { steps } = must(
    recordings.find((scenario) => scenario.id === id),
    id,
  );
  const objects = steps
    .filter((step) => step.setup === true)
    .flatMap((step) => (step.body === undefined ? [] : [step.body]));
  return { objects, asked: steps.filter((step) => step.setup !== true) };
}

function answer(select: () => (item: Item) => boolean, objects: readonly Item[]): unknown {
  try {
    return objects.filter(select()).map((item) => item.metadata.name);
  } catch (error) {
    if (error instanceof StatusError) return `${error.code} ${error.message}`;
    throw error;
  }
}

function expected({ want }: Step): unknown {
  return (
    want.body?.items.map((item) => item.metadata.name).filter((name) => name !== 'kube-root-ca.crt') ??
    `${want.code} ${want.status?.message ?? ''}`
  );
}

const parameter = (step: Step, name: string) => new URL(step.path, 'http://x').searchParams.get(name) ?? '';

describe('the recorded label selectors', () => {
  const { objects, asked } = recorded('request/labelSelector/00');
  it.each(asked.map((step) => [step.about, step] as const))('%s', (_about, step) => {
    const select = () => {
      const selector = parseLabelSelector(parameter(step, 'labelSelector'));
      return (item: Item) => selector.matches(item.metadata.labels);
    };
    expect(answer(select, objects)).toEqual(expected(step));
  });
});

describe('the recorded field selectors', () => {
  const { objects, asked } = recorded('request/fieldSelector/00');
  it.each(asked.map((step) => [step.about, step] as const))('%s', (_about, step) => {
    const select = () => {
      const selector = parseFieldSelector(parameter(step, 'fieldSelector'), fieldLabelsOf(labelled()));
      return (item: Item) => selector.matches((field) => (field === 'metadata.name' ? item.metadata.name : '{ns}'));
    };
    expect(answer(select, objects)).toEqual(expected(step));
  });
});

describe('selectors', () => {
  const word = fc
    .stringMatching(/^[a-z]([a-z0-9.-]{0,8}[a-z0-9])?$/)
    .filter((text) => text !== 'in' && text !== 'notin');
  const requirement = fc.oneof(
    fc.tuple(word, word).map(([key, value]) => `${key}=${value}`),
    fc.tuple(word, word).map(([key, value]) => `${key}!=${value}`),
    fc
      .tuple(word, fc.array(word, { minLength: 1, maxLength: 3 }))
      .map(([key, values]) => `${key} in (${values.join(',')})`),
    word.map((key) => `!${key}`),
    word,
  );

  it('mean the same when they are written and read again', () => {
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 4 }), fc.dictionary(word, word), (terms, labels) => {
        const selector = parseLabelSelector(terms.join(','));
        expect(parseLabelSelector(selector.toString()).matches(labels)).toBe(selector.matches(labels));
      }),
    );
  });

  it('match nothing when absent and everything when empty', () => {
    expect(labelSelectorFrom(undefined).matches({ a: 'b' })).toBe(false);
    expect(labelSelectorFrom({}).matches(undefined)).toBe(true);
    expect(labelSelectorFrom({}).empty).toBe(true);
  });

  it('demand labels and expressions together', () => {
    const selector = labelSelectorFrom({
      matchLabels: { app: 'a' },
      matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['db'] }],
    });
    expect(selector.matches({ app: 'a' })).toBe(true);
    expect(selector.matches({ app: 'a', tier: 'db' })).toBe(false);
    expect(selector.matches({ tier: 'web' })).toBe(false);
  });

  it.each([
    [{}, 'spec.bogus', '"spec.bogus" is not a known field selector: only "metadata.name", "metadata.namespace"'],
    [{ selectableFields: TYPE }, 'spec.bogus', 'field label not supported: spec.bogus'],
    [
      { selectableFields: TYPE, namespaced: false },
      'metadata.namespace',
      'field label not supported: metadata.namespace',
    ],
    [{ schema: CUSTOM }, 'spec.bogus', 'field label not supported: spec.bogus'],
    [{ schema: CUSTOM, namespaced: false }, 'metadata.namespace', 'field label not supported: metadata.namespace'],
    [
      {
        group: 'g',
        selectableFields: TYPE,
        fieldSelectorError: (field: string, of: string) => `${of} has no ${field}`,
      },
      'spec.bogus',
      'g/v1 has no spec.bogus',
    ],
  ])('of %j refuse the field %s', (kind, field, message) => {
    expect(() => parseFieldSelector(`${field}=x`, fieldLabelsOf(labelled(kind)))).toThrow(message);
  });

  it('of fields take what the kind knows, and escaped values', () => {
    const labels = fieldLabelsOf(labelled({ selectableFields: { 'spec.nodeName': () => '' } }));
    expect(parseFieldSelector('spec.nodeName=n,metadata.namespace!=x', labels).requiresExact('spec.nodeName')).toBe(
      'n',
    );
    expect(parseFieldSelector('metadata.name==a\\,b\\=c\\\\', labels).requiresExact('metadata.name')).toBe('a,b=c\\');
    expect(() => parseFieldSelector('metadata.name=a=b', labels)).toThrow('unescaped character in value: 61');
    expect(() => parseFieldSelector('metadata.name=a\\x', labels)).toThrow('invalid escape sequence: \\x');
    expect(() => parseFieldSelector('bare', labels)).toThrow("invalid selector: 'bare'; can't understand 'bare'");
  });
});
