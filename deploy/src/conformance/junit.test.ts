import { expect, test } from 'vitest';
import { formatJunit, parseJunit, resultsOf } from './junit.ts';

// As Ginkgo 2.28 writes them.
const REPORT = `<?xml version="1.0" encoding="UTF-8"?>
  <testsuites tests="7" disabled="3" errors="0" failures="1" time="12.3">
      <testsuite name="Kubernetes e2e suite" package="/x" tests="7" disabled="0" skipped="3" errors="0" failures="1" time="12.3">
          <properties>
              <property name="SuiteSucceeded" value="false"></property>
          </properties>
          <testcase name="[SynchronizedBeforeSuite]" classname="Kubernetes e2e suite" status="passed" time="0.4"></testcase>
          <testcase name="[It] [sig-cli] Kubectl &#34;say&#34; &lt;a &amp; b&gt; [Conformance]" classname="Kubernetes e2e suite" status="passed" time="1.5"></testcase>
          <testcase name="[It] [sig-node] Pods fail [Conformance]" classname="Kubernetes e2e suite" status="failed" time="2.25">
              <failure message="" type="failed">[FAILED] expected&#xA;  &lt;int&gt;: 1&#xA;to equal 2</failure>
              <system-err>&gt; Enter [It] fail&#xA;many lines</system-err>
          </testcase>
          <testcase name="[It] [sig-node] Pods wait [Conformance]" classname="Kubernetes e2e suite" status="interrupted" time="0.25">
              <error message="" type="interrupted">[INTERRUPTED] Interrupted by User</error>
          </testcase>
          <testcase name="[It] [sig-node] Pods need two nodes [Conformance]" classname="Kubernetes e2e suite" status="skipped" time="0.1">
              <skipped message="skipped - Requires at least 2 nodes"></skipped>
          </testcase>
          <testcase name="[It] [sig-node] Pods never ran [Conformance]" classname="Kubernetes e2e suite" status="skipped" time="0">
              <skipped message="skipped"></skipped>
          </testcase>
          <testcase name="[ReportAfterSuite] Kubernetes e2e JUnit report" classname="Kubernetes e2e suite" status="passed" time="0"></testcase>
      </testsuite>
  </testsuites>`;

const NAMES = [
  '[sig-cli] Kubectl "say" <a & b> [Conformance]',
  '[sig-node] Pods fail [Conformance]',
  '[sig-node] Pods wait [Conformance]',
  '[sig-node] Pods need two nodes [Conformance]',
  '[sig-node] Pods never ran [Conformance]',
];

test('tests are read with their full names; set-up and reports are none', () => {
  expect(parseJunit(REPORT).map(({ name }) => name)).toEqual(NAMES);
});

test('what was interrupted or never ran has no result', () => {
  expect(resultsOf(parseJunit(REPORT), new Set(NAMES))).toEqual([
    { name: NAMES[0], outcome: 'passed', seconds: 1.5 },
    { name: NAMES[1], outcome: 'failed', seconds: 2.25, message: 'expected\n  <int>: 1\nto equal 2' },
    { name: NAMES[3], outcome: 'skipped', seconds: 0.1, message: 'Requires at least 2 nodes' },
  ]);
});

test('a test that was not selected has no result', () => {
  expect(resultsOf(parseJunit(REPORT), new Set([NAMES[1] ?? '']))).toHaveLength(1);
});

test('reports of several starts become one, in which the last run of a test stands', () => {
  const again = REPORT.replace('status="failed" time="2.25"', 'status="passed" time="3"');
  const merged = formatJunit([...parseJunit(REPORT), ...parseJunit(again)], new Set(NAMES));
  const cases = parseJunit(merged);
  expect(cases.map(({ name }) => name)).toEqual([NAMES[0], NAMES[1], NAMES[3]]);
  expect(cases[1]).toMatchObject({ outcome: 'passed', seconds: 3 });
  expect(merged).toContain('<testsuites tests="3" failures="0" errors="0" time="4.600">');
});

test('of a long message the beginning and the end are kept, which says why', () => {
  const object = '{}'.repeat(2000);
  const report = REPORT.replace('to equal 2', `${object}: the container was not restarted`);
  const [failed] = resultsOf(parseJunit(report), new Set([NAMES[1] ?? '']));
  expect(failed?.message).toMatch(/^expected\n {2}<int>: 1\n/);
  expect(failed?.message).toMatch(/: the container was not restarted$/);
  expect(failed?.message?.length).toBeLessThan(2000);
});
