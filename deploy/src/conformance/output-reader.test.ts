import { expect, test } from 'vitest';
import { OutputReader } from './output-reader.ts';

const RUN = '[sig-node] Pods should run [Conformance]';
const RUN_ALONE = '[sig-node] Pods should run [Conformance] [Serial]';
const STOP = '[sig-node] Pods when full should stop [Conformance]';
const read = (text: string) => {
  const reader = new OutputReader([RUN, RUN_ALONE, STOP]);
  return text.split('\n').flatMap((line) => reader.read(line) ?? []);
};

test('one by one, the name stands before the end', () => {
  const text = `------------------------------
${RUN} [sig-node, Conformance]
k8s.io/kubernetes/test/e2e/node/pods.go:75
  STEP: creating
• [1.661 seconds]
------------------------------
${RUN_ALONE} [sig-node, Conformance, Serial]
k8s.io/kubernetes/test/e2e/node/pods.go:90
• [2.5 seconds]
------------------------------`;
  expect(read(text)).toEqual([
    { name: RUN, outcome: 'passed', seconds: 1.661 },
    { name: RUN_ALONE, outcome: 'passed', seconds: 2.5 },
  ]);
});

test('together, the name stands after the end', () => {
  const text = `------------------------------
------------------------------
• [0.928 seconds]
${RUN} [sig-node, Conformance]
------------------------------
• [1.5 seconds]
${STOP} [sig-node, Conformance]
------------------------------`;
  expect(read(text).map(({ name }) => name)).toEqual([RUN, STOP]);
});

test('a failure names the node within the name, and skipping is no failure', () => {
  const text = `${STOP} [sig-node, Conformance]
  [FAILED] expected 1 to equal 2
• [FAILED] [300.2 seconds]
[sig-node] Pods when full [BeforeEach] should stop [Conformance] [sig-node, Conformance]
------------------------------
S [SKIPPED] [0.1 seconds]
[sig-node] Pods [It] should run [Conformance] [sig-node, Conformance]`;
  expect(read(text)).toEqual([
    { name: STOP, outcome: 'failed', seconds: 300.2 },
    { name: RUN, outcome: 'skipped', seconds: 0.1 },
  ]);
});

test('what was interrupted has no result, and set-up is no test', () => {
  const text = `[SynchronizedBeforeSuite] PASSED [0.4 seconds]
${RUN} [sig-node, Conformance]
• [INTERRUPTED] [3 seconds]
[sig-node] Pods [It] should run [Conformance] [sig-node, Conformance]
------------------------------
[ReportAfterSuite] PASSED [0.000 seconds]`;
  expect(read(text)).toEqual([]);
});
