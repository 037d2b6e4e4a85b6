import { describe, expect, it } from 'vitest';
import { selectChecks } from './select-checks.ts';

const BUILD = { name: 'build' };
const TESTS = { name: 'unit tests', after: ['build'] };
const LINT = { name: 'lint', after: ['build'] };
const CHECKS = [BUILD, TESTS, LINT];

describe('selectChecks', () => {
  it('gives all checks without names', () => {
    expect(selectChecks(CHECKS, [])).toEqual({ checks: CHECKS, json: undefined });
    expect(selectChecks(CHECKS, ['--json', 'out.json'])).toEqual({ checks: CHECKS, json: 'out.json' });
  });

  it('gives those that need Docker where they are asked for', () => {
    const docker = { name: 'parts', after: ['build'], docker: true };
    const checks = [...CHECKS, docker];
    expect(selectChecks(checks, [])).toMatchObject({ checks: CHECKS });
    expect(selectChecks(checks, ['--docker', '--json', 'a'])).toEqual({ checks, json: 'a' });
    expect(selectChecks(checks, ['parts'])).toMatchObject({ checks: [{ ...docker, after: [] }] });
  });

  it('gives the named checks, which wait only for each other', () => {
    const checks = [{ name: 'unit tests', after: [] }];
    expect(selectChecks(CHECKS, ['unit tests', '--json', 'out.json'])).toEqual({ checks, json: 'out.json' });
    expect(selectChecks(CHECKS, ['lint', 'build'])).toMatchObject({ checks: [BUILD, LINT] });
  });

  it('refuses what it does not know, with the known names', () => {
    const error = "there is no check worbs; the checks are: build, 'unit tests', lint";
    expect(selectChecks(CHECKS, ['lint', 'worbs'])).toEqual({ error });
    expect(selectChecks(CHECKS, ['--json'])).toEqual({ error: '--json needs the name of a file' });
  });
});
