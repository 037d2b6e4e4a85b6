import { describe, expect, it } from 'vitest';
import { readReport, type TestReport } from './run-tests.ts';

type File = TestReport['testResults'][number];

const file = (status: string, tests: Readonly<Record<string, string>>, message?: string): File => ({
  name: 'guard.test.ts',
  status,
  assertionResults: Object.entries(tests).map(([fullName, result]) => ({ fullName, status: result })),
  ...(message === undefined ? {} : { message }),
});

describe('readReport', () => {
  it('names the first test that failed', () => {
    const report = {
      numPassedTests: 1,
      testResults: [file('failed', { first: 'passed', second: 'failed', third: 'failed' })],
    };
    expect(readReport(report, 1)).toEqual({ kind: 'failed', test: 'second', message: '' });
  });

  it('does not take a file that cannot be loaded for a test that failed', () => {
    const report = { numPassedTests: 0, testResults: [file('failed', {}, 'Unexpected token')] };
    expect(readReport(report, 1)).toEqual({ kind: 'broken', why: 'guard.test.ts: Unexpected token' });
  });

  it('does not take a run without a test for one that passed', () => {
    expect(readReport({ numPassedTests: 0, testResults: [] }, 1)).toEqual({
      kind: 'broken',
      why: '0 of 1 test files were found',
    });
  });

  it('passes when all files did', () => {
    const report = { numPassedTests: 2, testResults: [file('passed', { first: 'passed', second: 'passed' })] };
    expect(readReport(report, 1)).toEqual({ kind: 'passed', tests: 2 });
  });
});
