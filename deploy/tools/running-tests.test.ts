import { beforeEach, expect, it } from 'vitest';
import type { TestCase, TestModule } from 'vitest/node';
import RunningTests from './running-tests.ts';

const module = { type: 'module', id: 'm', relativeModuleId: 'src/a.test.ts' } as TestModule;
const testCase = (name: string) => ({ type: 'test', id: name, fullName: `suite > ${name}`, module }) as TestCase;

let lines: string[];
let seconds: number;
let reporter: RunningTests;

beforeEach(() => {
  lines = [];
  seconds = 0;
  reporter = new RunningTests({ write: (line) => lines.push(line), now: () => seconds * 1000 });
});

it('names the tests that have been running for ten seconds or more, the longest first', () => {
  reporter.onTestCaseReady(testCase('slow'));
  seconds = 5;
  reporter.onTestCaseReady(testCase('slower than most'));
  reporter.onTestCaseReady(testCase('ended'));
  seconds = 9;
  reporter.report();
  expect(lines).toEqual([]);
  reporter.onTestCaseResult(testCase('ended'));
  seconds = 20;
  reporter.onTestCaseReady(testCase('new'));
  reporter.report();
  expect(lines).toEqual([
    '   … 20 s: src/a.test.ts > suite > slow\n',
    '   … 15 s: src/a.test.ts > suite > slower than most\n',
  ]);
});

it('names hooks until they end', () => {
  reporter.onHookStart({ name: 'beforeAll', entity: module });
  seconds = 10;
  reporter.report();
  reporter.onHookEnd({ name: 'beforeAll', entity: module });
  reporter.report();
  expect(lines).toEqual(['   … 10 s: beforeAll of src/a.test.ts\n']);
});

it('names four of many and counts the rest', () => {
  for (let index = 0; index < 9; index++) reporter.onTestCaseReady(testCase(`t${index}`));
  seconds = 30;
  reporter.report();
  expect(lines).toHaveLength(5);
  expect(lines.at(-1)).toBe('   … and 5 more\n');
});
