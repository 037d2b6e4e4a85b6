import { readFileSync } from 'node:fs';
import { equalJson } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { plainJson } from '../values/decode-value.ts';
import { type Parsed, parseJsonText } from '../values/json-parser.ts';
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

  it.each(['1.0', '1', '10e-1'])('test numbers by value, not by text: 1 is %s', (text) => {
    const { value } = parseJsonText(`[{"op":"test","path":"/a","value":${text}}]`);
    expect(patched({ a: 1 }, value as Parsed[])).toEqual({ a: 1 });
  });
});
