import { describe, expect, it } from 'vitest';
import type { InvariantVerdict, Verdict } from './verdict.ts';
import { exitCodeOf, formatVerdict } from './verdict-text.ts';

const HOLDS: InvariantVerdict = {
  invariant: 'I1',
  title: 'One',
  checked: 3,
  unit: 'terms',
  violationCount: 0,
  violations: [],
};
const BROKEN: InvariantVerdict = {
  ...HOLDS,
  invariant: 'I2',
  title: 'Two',
  violationCount: 3,
  violations: [{ what: 'wrong', atMs: 12, evidence: ['etcd/a.jsonl:3', 'faults.jsonl:1'] }],
};
const IDLE: InvariantVerdict = {
  ...HOLDS,
  invariant: 'I34',
  title: 'Idle',
  checked: 0,
  notChecked: 'the run has no terms',
};
const verdict = (outcome: Verdict['outcome'], ...invariants: InvariantVerdict[]): Verdict => ({
  outcome,
  problems: [],
  found: [],
  invariants,
  loads: [],
});

describe('formatVerdict', () => {
  it('has a line for each invariant, violations with their evidence, and the counts', () => {
    expect(formatVerdict(verdict('violations', HOLDS, BROKEN, IDLE)).split('\n')).toEqual([
      'I1  holds       One (3 terms)',
      'I2  broken      Two (3 terms)',
      '      at 12 ms: wrong [etcd/a.jsonl:3 faults.jsonl:1]',
      '      and 2 more',
      'I34 not checked Idle (not checked: the run has no terms)',
      'violations: 1 hold, 1 are broken, 1 were not checked',
    ]);
  });

  it('says that incomplete artefacts prove nothing', () => {
    const found = ['not healthy'];
    const text = formatVerdict({ ...verdict('unusable', HOLDS), problems: ['events are missing'], found });
    expect(text).toContain('problem: events are missing\nfound by the campaign: not healthy');
    expect(text).toContain('incomplete artefacts, so no violation proves nothing: 1 hold, 0 are broken');
  });

  it('gives the exit code', () => {
    expect((['ok', 'violations', 'unusable'] as const).map((outcome) => exitCodeOf(verdict(outcome)))).toEqual([
      0, 1, 2,
    ]);
  });
});
