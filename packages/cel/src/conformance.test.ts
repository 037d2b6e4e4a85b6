import { getConformanceSuite } from '@bufbuild/cel-spec/testdata/tests.js';
import { describe, expect, it } from 'vitest';
import { createEnvironment } from './compile/create-environment.ts';
import { equalValues } from './values/compare.ts';
import { ArrayList, EntryMap } from './values/collections.ts';
import { CelTypeValue, CelUint, type CelValue, isError } from './values/value.ts';

type Suite = ReturnType<typeof getConformanceSuite>;
type SimpleTest = Suite['tests'][number]['original'];

function testsOf(suite: Suite): readonly SimpleTest[] {
  return [...suite.tests.map(({ original }) => original), ...suite.suites.flatMap(testsOf)];
}

interface Wire {
  readonly kind: { readonly case?: string; readonly value?: unknown };
}

/** A value of the suite as a CelValue; undefined for a message. */
function fromWire({ kind }: Wire): CelValue | undefined {
  switch (kind.case) {
    case 'nullValue':
      return null;
    case 'uint64Value':
      return new CelUint(kind.value as bigint);
    case 'typeValue':
      return new CelTypeValue(kind.value as string);
    case 'boolValue':
    case 'int64Value':
    case 'doubleValue':
    case 'stringValue':
    case 'bytesValue':
      return kind.value as CelValue;
    case 'listValue': {
      const values = (kind.value as { values: readonly Wire[] }).values.map(fromWire);
      return values.every((value) => value !== undefined) ? new ArrayList(values) : undefined;
    }
    case 'mapValue': {
      const { entries } = kind.value as { entries: readonly { key?: Wire; value?: Wire }[] };
      const pairs: [CelValue, CelValue][] = [];
      for (const { key, value } of entries) {
        const [ours, held] = [key && fromWire(key), value && fromWire(value)];
        if (ours === undefined || held === undefined) return undefined;
        pairs.push([ours, held]);
      }
      const map = EntryMap.of(pairs);
      return isError(map) ? undefined : map;
    }
    default:
      return undefined;
  }
}

/** Expressions that use features that Kubernetes does not offer or configures differently. */
const ELSEWHERE =
  /TestAllTypes|google\.protobuf|proto\.|cel\.expr|base64|math\.|cel\.bind|cel\.block|cel\.@block|cel\.index|cel\.iterVar|block_ext|`|\.reverse\(\)|network|getExt|hasExt/;

const environment = createEnvironment({ variables: {} });

/** 'pass', the reason for a failure, or undefined if the test needs features that Kubernetes does not offer. */
function run(test: SimpleTest): string | undefined {
  const matcher = test.resultMatcher;
  if (ELSEWHERE.test(test.expr) || test.typeEnv.length > 0 || Object.keys(test.bindings).length > 0) return undefined;
  if (test.container !== '' || test.disableMacros || test.checkOnly || test.disableCheck) return undefined;
  const compiled = environment.compile(test.expr);
  const result = compiled.ok ? compiled.program.evaluate({}) : { ok: false as const, error: compiled.issues };
  if (matcher.case === 'evalError') return result.ok ? `no error: ${test.expr}` : 'pass';
  // The checker rejects literals of mixed types and comparisons of unlike types.
  if (!compiled.ok && /expected type '|found no matching overload|undeclared reference/.test(compiled.issues))
    return undefined;
  if (matcher.case === 'typedResult') return result.ok ? 'pass' : `${test.expr}: ${result.error}`;
  const expected = matcher.case === 'value' ? fromWire(matcher.value) : true;
  if (expected === undefined) return undefined;
  if (!result.ok) return `${test.expr}: ${result.error}`;
  const isNaN = Number.isNaN(expected) && Number.isNaN(result.value);
  return isNaN || equalValues(expected, result.value) ? 'pass' : `${test.expr}: other value`;
}

/** Known differences between Kubernetes' engine and the suite. */
const DIFFERENT: readonly RegExp[] = [
  // After an optional, cel-go treats a field of a value without fields as absent.
  /\.\?null_key\.invalid/,
  /\[\?true\]\.absent/,
  // An index beyond the end yields "not found", not an error.
  /ndexOf\('a', 30\)/,
  // Halves are rounded up, not to the even digit.
  /%\.0f/,
];

describe('the conformance suite of the language', () => {
  const outcomes = testsOf(getConformanceSuite()).map(run);

  it('passes every test that uses only what Kubernetes offers', () => {
    const failed = outcomes.filter((outcome) => outcome !== undefined && outcome !== 'pass');
    expect(failed.filter((text) => !DIFFERENT.some((known) => known.test(text ?? '')))).toEqual([]);
  });

  it('applies to most tests of the suite', () => {
    expect(outcomes.filter((outcome) => outcome === 'pass').length).toBeGreaterThan(700);
  });
});
