import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();

interface Share {
  readonly code: number;
  readonly answer: number;
}

/** Shares in percent that were reached before, and below which no change may fall. */
const floors = JSON.parse(readFileSync(join(cluster.root, 'integration-tests/golden-floors.json'), 'utf8')) as {
  readonly requests: Share;
  readonly flows: Share;
};

/** What the conversations of a group wait for, as docs/golden-differences.md lists it. */
const waiting = [
  ...readFileSync(join(cluster.root, 'docs/golden-differences.md'), 'utf8').matchAll(/^\| (flow\/[a-z]+) \|/gm),
].map(([, group = '']) => group);

const REQUESTS = '^(?!flow/)';
const FLOWS = `^(?!(${waiting.join('|')})/)flow/`;

async function replay(only: string, name: string, jobs: number): Promise<Share> {
  const folder = join(cluster.root, 'integration-tests/golden');
  const files = globSync('*.jsonl', { cwd: folder })
    .toSorted()
    .map((file) => join(folder, file));
  const json = join(cluster.home, `golden-${name}.json`);
  const options = [
    '--kubeconfig',
    cluster.kubeconfig,
    '--only',
    only,
    '--show',
    '0',
    '--jobs',
    `${jobs}`,
    '--json',
    json,
  ];
  await runProgram(process.execPath, [join(folder, 'replay.mjs'), ...options, ...files], {
    timeoutMs: 1_500_000,
    env: { PATH: `${join(cluster.root, '.gantry/tools')}:${process.env['PATH'] ?? ''}` },
  });
  const result = JSON.parse(readFileSync(json, 'utf8')) as { passed: number; total: number; code: number };
  const percent = (count: number) => Math.round((10_000 * count) / result.total) / 100;
  const share = { code: percent(result.code), answer: percent(result.passed) };
  process.stdout.write(`golden ${name}: same code ${share.code} %, same answer ${share.answer} %, see ${json}\n`);
  return share;
}

test('recorded requests are answered as Kubernetes answered them', { timeout: 1_600_000 }, async () => {
  const share = await replay(REQUESTS, 'requests', 8);
  expect(share.code).toBeGreaterThanOrEqual(floors.requests.code);
  expect(share.answer).toBeGreaterThanOrEqual(floors.requests.answer);
});

test('controllers do what those of Kubernetes did', { timeout: 1_600_000 }, async () => {
  const share = await replay(FLOWS, 'flows', 4);
  expect(share.code).toBeGreaterThanOrEqual(floors.flows.code);
  expect(share.answer).toBeGreaterThanOrEqual(floors.flows.answer);
});
