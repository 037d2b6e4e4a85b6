import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { CATALOGUE } from './conformance/catalogue.ts';
import { compactHistory } from './conformance/compact-history.ts';
import { PROOFS } from './conformance/proofs.ts';
import { type Outcome, renderReport } from './conformance/report.ts';
import { ClusterUnderTest, type Proof, World } from './conformance/world.ts';

const TIMEOUT_MS = 90_000;
const REPORT = join(inject('root'), 'docs/conformance.md');

const cluster = new ClusterUnderTest(join(inject('home'), 'kubeconfig'), compactHistory);
const outcomes = new Map<string, Outcome>();

/** A test under its codename, whose outcome is kept for the report. */
function register(proof: Proof): void {
  test(proof.codename, { timeout: TIMEOUT_MS }, async () => {
    outcomes.set(proof.codename, 'failed');
    await using world = new World(cluster);
    await proof.prove(world);
    outcomes.set(proof.codename, 'passed');
  });
}

test('every proof is of a test of the official suite, and every test of class A has one', () => {
  const proved = PROOFS.map(({ codename }) => codename);
  const known = CATALOGUE.map(({ codename }) => codename);
  expect(proved.filter((codename) => !known.includes(codename))).toEqual([]);
  expect(new Set(proved).size).toBe(proved.length);
  const ofTheServer = CATALOGUE.filter((one) => one.class === 'A').map(({ codename }) => codename);
  expect(ofTheServer).toHaveLength(113);
  expect(ofTheServer.filter((codename) => !proved.includes(codename))).toEqual([]);
});

describe.concurrent('together', () => {
  for (const proof of PROOFS.filter(({ when }) => when === 'together')) register(proof);
});

describe('alone', () => {
  for (const proof of PROOFS.filter(({ when }) => when === 'alone')) register(proof);
});

// After all others: `vitest --update` writes the file.
test('docs/conformance.md says what this run says', async () => {
  await expect(renderReport(outcomes)).toMatchFileSnapshot(REPORT);
});
