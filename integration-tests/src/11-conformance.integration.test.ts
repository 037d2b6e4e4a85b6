import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { OFFICIAL_TESTS } from './conformance/official-tests.ts';
import { compactHistory } from './conformance/compact-history.ts';
import { PROOFS } from './conformance/proofs.ts';
import { differences, type Outcome, renderReport } from './conformance/report.ts';
import { ClusterUnderTest, type Proof, World } from './conformance/world.ts';

const TIMEOUT_MS = 600_000;
const REPORT = join(inject('root'), 'docs/conformance.md');
/** Set by `npm run conformance`: the document is written instead of compared. */
const WRITES = process.env['GANTRY_CONFORMANCE_WRITE'] === '1';

const cluster = new ClusterUnderTest(join(inject('home'), 'kubeconfig'), compactHistory);
const outcomes = new Map<string, Outcome>();

/** A test under its codename, whose outcome is kept for the report: the runner's own word, since it also ends what takes too long. */
function register(proof: Proof): void {
  test(proof.codename, { timeout: TIMEOUT_MS }, async ({ onTestFinished }) => {
    onTestFinished(({ task }) => {
      outcomes.set(proof.codename, task.result?.state === 'pass' ? 'passed' : 'failed');
    });
    await using world = new World(cluster);
    await proof.prove(world);
  });
}

test('every proof is of a test of the official suite, and every test of class A has one', () => {
  const proved = PROOFS.map(({ codename }) => codename);
  const known = OFFICIAL_TESTS.map(({ codename }) => codename);
  expect(proved.filter((codename) => !known.includes(codename))).toEqual([]);
  expect(new Set(proved).size).toBe(proved.length);
  const ofTheServer = OFFICIAL_TESTS.filter((one) => one.class === 'A').map(({ codename }) => codename);
  expect(ofTheServer).toHaveLength(113);
  expect(ofTheServer.filter((codename) => !proved.includes(codename))).toEqual([]);
});

describe.concurrent('together', () => {
  for (const proof of PROOFS.filter(({ when }) => when === 'together')) register(proof);
});

describe('alone', () => {
  for (const proof of PROOFS.filter(({ when }) => when === 'alone')) register(proof);
});

// After all others, whose outcomes it is about. Each failure is a failure of its own; this one says what it means here.
test('docs/conformance.md says what this run says', () => {
  const leftOut = PROOFS.filter(({ codename }) => !outcomes.has(codename));
  if (leftOut.length > 0)
    expect.fail(`a run without ${leftOut.length} of the tests cannot say what docs/conformance.md must`);
  const report = renderReport(outcomes);
  if (WRITES) writeFileSync(REPORT, report);
  const failed = [...outcomes].filter(([, outcome]) => outcome === 'failed').map(([codename]) => codename);
  if (failed.length > 0) expect.fail(`not as docs/conformance.md promises, these failed:\n${failed.join('\n')}`);
  const changes = differences(existsSync(REPORT) ? readFileSync(REPORT, 'utf8') : '', report);
  if (changes.length > 0)
    expect.fail(`docs/conformance.md is of another run (npm run conformance writes it):\n${changes.join('\n')}`);
});
