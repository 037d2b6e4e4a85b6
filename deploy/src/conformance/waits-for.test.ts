import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseRules, waitsFor } from './waits-for.ts';

const RULES = parseRules(
  JSON.stringify([
    { message: 'apply caps', part: 'machine', why: 'no CAP_SYS_RESOURCE' },
    { test: 'DNS', part: 'network', why: 'cluster DNS' },
  ]),
);

test('the first rule that matches says what a test waits for', () => {
  const failed = (name: string, message: string) => waitsFor({ name, outcome: 'failed', seconds: 1, message }, RULES);
  expect(failed('DNS should answer', 'unable to apply caps')).toMatchObject({ part: 'machine' });
  expect(failed('DNS should answer', 'timed out')).toMatchObject({ part: 'network', why: 'cluster DNS' });
  expect(failed('Pods should run', 'timed out')).toEqual({ part: 'defect', why: 'not explained yet' });
});

test('a rule that names no known part, or no reason, is refused', () => {
  expect(() => parseRules('[{"test":"x","part":"luck","why":"bad"}]')).toThrow(/luck is none of/);
  expect(() => parseRules('[{"test":"x","part":"agent","why":""}]')).toThrow(/does not say why/);
});

test('a rule that blames the machine for any failure of a test is refused', () => {
  expect(() => parseRules('[{"test":"Mounts","part":"machine","why":"no mounts"}]')).toThrow(/which failure of Mounts/);
  expect(parseRules('[{"test":"Mounts","message":"EPERM","part":"machine","why":"no mounts"}]')).toHaveLength(1);
});

test('the rules of this repository can be read', () => {
  const file = new URL('../../conformance/waits-for.json', import.meta.url);
  expect(parseRules(readFileSync(file, 'utf8')).length).toBeGreaterThan(0);
});
