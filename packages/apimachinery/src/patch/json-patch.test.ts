import { readFileSync } from 'node:fs';
import { equalJson } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { MAX_DEPTH, type Parsed, parseJsonText, plainJson } from '../values/json-parser.ts';
import { applyJsonPatch, PatchConflict, PatchTestFailed, readOperations } from './json-patch.ts';

/** What Kubernetes' library, `gopkg.in/evanphx/json-patch.v4` 4.13.0, makes of documents and patches. */
const CASES = readFileSync(new URL('json-patch.cases.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n');

interface Case {
  readonly document: Parsed;
  readonly patch: Parsed[] | null;
  readonly verdict: Parsed;
}

function patched(document: Parsed, patch: readonly Parsed[]): unknown {
  try {
    return plainJson(applyJsonPatch(plainJson(document), readOperations(patch)) as Parsed);
  } catch (error) {
    if (error instanceof PatchTestFailed) return 'test failed';
    if (error instanceof PatchConflict) return 'refused';
    throw error;
  }
}

describe('JSON patches', () => {
  it.each(CASES)('do what they do in Kubernetes: %s', (line) => {
    const { document, patch, verdict } = parseJsonText(line).value as unknown as Case;
    const result = patched(document, patch ?? []);
    expect(equalJson(result, plainJson(verdict)), `${JSON.stringify(result)}`).toBe(true);
  });

  const times = (count: number, each: (i: number) => object) =>
    Array.from({ length: count }, (_, i) => each(i)) as unknown as Parsed[];
  const nested = (depth: number): Parsed => (depth === 0 ? 1 : { a: nested(depth - 1) });

  it('make no document that could not be read again', () => {
    const path = '/a'.repeat(500);
    const document = nested(500);
    const add = (depth: number, op = 'add') =>
      applyJsonPatch(structuredClone(document), [{ op, path, value: nested(depth) }]);
    for (const op of ['add', 'replace']) {
      expect(parseJsonText(JSON.stringify(add(MAX_DEPTH - 500, op)))).toBeDefined();
      expect(() => add(MAX_DEPTH - 499, op)).toThrow('exceeded max depth');
    }
    const moved = [
      { op: 'add', path: '/b', value: nested(600) },
      { op: 'move', from: '/a', path: `/b${'/a'.repeat(600)}` },
    ];
    expect(() => applyJsonPatch({ a: nested(600) }, moved)).toThrow('exceeded max depth');
    expect(() => applyJsonPatch({ a: nested(300) }, moved)).not.toThrow();
  });

  it.each([
    ['inserting', { op: 'add', path: '/a/0', value: 1 }],
    ['removing', { op: 'remove', path: '/a/0' }],
    ['moving in a list', { op: 'move', from: '/a/-1', path: '/a/0' }],
    ['moving a large value', { op: 'move', from: '/a', path: '/a' }],
  ])('may not do much work by %s many times', (_, operation) => {
    const document = { a: Array(90_000).fill(1) };
    const many = times(10_000, () => operation);
    expect(() => applyJsonPatch(document, readOperations(many))).toThrow('the operations move too many values');
    expect(applyJsonPatch({ a: Array(1000).fill(1) }, readOperations(many.slice(0, 300)))).toBeDefined();
  });

  it.each(['1.0', '1', '10e-1'])('test numbers by value, not by text: 1 is %s', (text) => {
    const { value } = parseJsonText(`[{"op":"test","path":"/a","value":${text}}]`);
    expect(patched({ a: 1 }, value as Parsed[])).toEqual({ a: 1 });
  });
});
