import { expect, test } from 'vitest';
import { focusArguments } from './focus.ts';
import type { OfficialTest } from './test-list.ts';

const parallel = (name: string): OfficialTest => ({ name, area: 'sig-node', schedule: 'parallel' });
const serial = (name: string): OfficialTest => ({ name, area: 'sig-node', schedule: 'serial' });
const SUITE = [
  parallel('[sig-node] Pods should run (at once) [Conformance]'),
  parallel('[sig-node] Pods should run (at once) and stop [Conformance]'),
  parallel('[sig-node] Pods should be fast'),
  serial('[sig-node] Taints [Serial] should evict [Conformance]'),
  serial('[sig-node] Nodes should go [Conformance] [Serial]'),
];

/** The tests that Ginkgo runs: what it matches against is the suite's description, a space, and the name. */
function chosen(args: readonly string[]): readonly string[] {
  const patterns = (flag: string) =>
    args.filter((arg) => arg.startsWith(flag)).map((arg) => new RegExp(arg.slice(flag.length)));
  return SUITE.map(({ name }) => name).filter((name) => {
    const matches = (pattern: RegExp) => pattern.test(`Kubernetes e2e suite ${name}`);
    return patterns('--focus=').some(matches) && !patterns('--skip=').some(matches);
  });
}

test.each([
  ['the whole parallel part', [0, 1]],
  ['the whole serial part', [3, 4]],
  ['one test whose name begins another', [0]],
  ['a test beyond conformance', [2]],
  ['one serial test', [4]],
])('%s is chosen exactly', (_, indexes) => {
  const wanted = SUITE.filter((_test, i) => indexes.includes(i));
  expect(chosen(focusArguments(wanted, SUITE))).toEqual(wanted.map(({ name }) => name));
});

test('no argument grows beyond what a program may be given, and none of many tests is lost', () => {
  const many = Array.from({ length: 2_000 }, (_, i) => parallel(`[sig-node] ${'x'.repeat(150)} ${i}`));
  const args = focusArguments(many, SUITE);
  expect(Math.max(...args.map((arg) => arg.length))).toBeLessThan(131_072);
  const patterns = args.map((arg) => new RegExp(arg.slice('--focus='.length)));
  expect(many.every(({ name }) => patterns.some((pattern) => pattern.test(`suite ${name}`)))).toBe(true);
});
