import { expect, test } from 'vitest';
import { parseOptions } from './options.ts';

test('without options the suite is run on five nodes, and the cluster is removed', () => {
  expect(parseOptions([])).toMatchObject({
    choice: { scope: 'conformance' },
    mode: 'fresh',
    agents: 5,
    cluster: 'remove',
  });
});

test('a selection is read', () => {
  expect(parseOptions(['--focus', 'DNS', '--area', 'sig-network', '--failed', '--all', '--procs', '3'])).toMatchObject({
    choice: { scope: 'all', focus: /DNS/, area: 'sig-network', last: 'failed' },
    processes: 3,
  });
});

test('what is beyond conformance can be selected alone', () => {
  expect(parseOptions(['--beyond'])).toMatchObject({ choice: { scope: 'beyond' } });
});

test('tests without a result can be selected', () => {
  expect(parseOptions(['--not-run'])).toMatchObject({ choice: { last: 'none' }, mode: 'fresh' });
});

test('the page can be written of the last results', () => {
  expect(parseOptions(['--page'])).toMatchObject({ mode: 'page' });
});

test.each([
  [['--focus', '('], /no regular expression/],
  [['--procs', 'many'], /^--procs: "many" is no whole number from 1/],
  [['--agents', '0'], /^--agents: "0" is no whole number from 1/],
  [['--all', '--beyond'], /exclude each other/],
  [['--resume', '--beyond'], /what the interrupted run had selected/],
  [['--resume', '--failed'], /what the interrupted run had selected/],
  [['--resume', '--not-run'], /what the interrupted run had selected/],
  [['--failed', '--not-run'], /exclude each other/],
  [['--resume', '--list'], /exclude each other/],
  [['--page', '--prepare'], /exclude each other/],
])('%j is refused', (args, message) => {
  expect(() => parseOptions(args)).toThrow(message);
});
