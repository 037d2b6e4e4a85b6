import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseBuilds, replaceOnce } from './broken-build.ts';
import { FAULT_KINDS } from './faults/index.ts';
import { parsePlan } from './plan-file.ts';

const replacement = { file: 'a.mjs', find: 'if (fence === void 0) return [own];', replace: 'return [];' };

test('a text is replaced, however the bundler has written it', () => {
  expect(replaceOnce('x;if(fence2===void 0)return[\nown3];y', replacement)).toBe('x;return [];y');
  expect(replaceOnce('f("left\\\n-out")', { ...replacement, find: 'f("left-out")' })).toBe('return [];');
});

test.each([
  ['no place', 'if(fences===void 0)return[own];', 'a.mjs has 0 places'],
  ['two places', 'if(fence===void 0)return[own];if(fence===void 0)return[own];', 'a.mjs has 2 places'],
  ['another word that begins alike', 'if(fence===void 0)return[owner];', 'a.mjs has 0 places'],
])('a bundle with %s is refused', (_, bundle, message) => {
  expect(() => replaceOnce(bundle, replacement)).toThrow(message);
});

test('the file of builds is well-formed, and has names of their own', () => {
  const builds = parseBuilds(readFileSync(new URL('../../broken-builds/builds.json', import.meta.url), 'utf8'));
  expect(builds.length).toBeGreaterThanOrEqual(10);
  expect(new Set(builds.map(({ name }) => name)).size).toBe(builds.length);
  for (const { plan } of builds) {
    const text = readFileSync(new URL(`../../broken-builds/plans/${plan}.json`, import.meta.url), 'utf8');
    expect(parsePlan(text, { kinds: FAULT_KINDS, impossible: new Map() }).length, plan).toBeGreaterThan(0);
  }
  expect(() => parseBuilds('[{"name":"x"}]')).toThrow('broken builds: 0.what');
});
