import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connect, JAVASCRIPT_PROOFS } from '../clients/javascript.ts';
import { Cluster } from '../harness/cluster.ts';
import { runProgram } from '../harness/process.ts';

const TIMEOUT_MS = 600_000;
const cluster = new Cluster();

/** What the programs saw of each proof. */
const PROGRAMS = [
  {
    language: 'Go',
    command: ['.gantry/clients/go'],
    seen: {
      discovery: 'version 1.36',
      'rest-mapper': 'apps/v1, Resource=deployments; autoscaling/v2, Kind=HorizontalPodAutoscaler',
      protobuf: '"k8s" Always',
      patches: '{"c":"5","e":"6"}',
      apply: 'FieldManagerConflict: conflict with "one" .data.a',
      'conflict-retry': 'IIIII',
      pagination: '25 in 4 pages',
      dynamic: '2',
      'custom-resources': 'map[size:3] 5 Done',
      'metadata-only': 'MODIFIED yes',
      table: 'Name Data Age',
      informer: '0 left',
      'watch-resume': '12 events',
      'leader-election': 'two after 1 transitions',
    },
  },
  {
    language: 'Python',
    command: ['.gantry/clients/python/bin/python', 'integration-tests/clients/python/prove.py'],
    seen: {
      discovery: 'version 1.36',
      typed: 'yes',
      patches: '[{"c": "5"}, {"d": "4"}]',
      apply: 'FieldManagerConflict: conflict with "one" .data.a',
      pagination: '25 in 4 pages; BadRequest',
      'dynamic-client': '2',
      'watch-resume': '12 events',
      'custom-resources': '5 Done 2',
      table: 'Name Data Age',
      tokens: 'system:serviceaccount:NAMESPACE:robot',
    },
  },
];

interface Line {
  readonly proof: string;
  readonly seen?: string;
  readonly error?: string;
}

// One after the other: Python's library queries every discovered group, and fails when another test removes one.
test.each(PROGRAMS)('the library of $language', { timeout: TIMEOUT_MS }, async ({ command, seen }) => {
  const [program = '', ...args] = command.map((file) => join(cluster.root, file));
  if (!existsSync(program)) throw new Error(`${program} is missing: run deploy/bin/ensure-clients`);
  await using namespace = await cluster.namespace();
  const { code, stdout, stderr } = await runProgram(program, [...args, cluster.kubeconfig, namespace.name], {
    timeoutMs: TIMEOUT_MS,
  });
  const lines = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
  const proved = Object.fromEntries(lines.map((line) => [line.proof, line.seen ?? line.error]));
  expect(proved, stderr).toEqual(seen);
  expect(code).toBe(0);
});

describe.concurrent('the library of JavaScript', () => {
  const EXPECTED: Readonly<Record<keyof typeof JAVASCRIPT_PROOFS, unknown>> = {
    discovery: 'version 1.36',
    patches: { strategic: { c: '3' }, json: { d: '3' }, refusal: 422 },
    apply: { refusal: 409, managers: ['two'] },
    pagination: { names: 25, first: 'page-10', last: 'page-34', pages: [10, 10, 5] },
    'custom-resources': { made: { size: 3 }, refusal: 422, patched: { size: 5 } },
    informer: { seen: ['add before', 'add after', 'update after', 'delete before'], left: ['after'] },
    'watch-resume': {
      seen: Array.from({ length: 10 }, (_, index) => `ADDED resumed-${index}`).join(', '),
      resumed: true,
    },
  };

  test.each(Object.entries(JAVASCRIPT_PROOFS))('%s', { timeout: TIMEOUT_MS }, async (name, prove) => {
    await using namespace = await cluster.namespace();
    expect(await prove(connect(cluster.kubeconfig, namespace.name))).toEqual(EXPECTED[name]);
  });
});
