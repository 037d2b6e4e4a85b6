import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import type { ClientLine } from '@gantry/chaos-checker';
import type { HttpClient } from '@gantry/client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { RunFolder } from '../recording/run-folder.ts';
import { startElectors } from './electors.ts';
import { Tally } from './tally.ts';
import { untilRight } from './until-right.ts';
import type { WorkloadContext } from './workload.ts';

const NEVER = new AbortController().signal;
const FROZEN = / T /;

/** Prints what deploy/elector prints: `electors-0` leads, but not while it is cut off, and has a new term when it is no longer frozen. */
const PROGRAM = `
const [, kubeconfig, , , identity] = process.argv;
const say = (line) => process.stdout.write(JSON.stringify(line) + '\\n');
const OUTCOMES = [
  { resourceVersion: '7', uid: 'u' },
  { status: { code: 403, reason: 'Forbidden', message: 'the term has ended' } },
  { error: 'no connection' },
];
let writes = 0;
if (identity === 'electors-0') {
  require('node:fs').writeFileSync(kubeconfig, String(process.pid));
  say({ event: 'leads' });
  setInterval(() => {
    say({ event: 'sent' });
    say({ event: 'done', ...OUTCOMES[writes++ % OUTCOMES.length] });
  }, 20);
  process.on('SIGCONT', () => (say({ event: 'leads-not' }), say({ event: 'leads' })));
}
require('node:readline')
  .createInterface({ input: process.stdin })
  .on('line', (line) => say({ event: line === 'cut' ? 'leads-not' : 'leads' }))
  .on('close', () => process.exit(0));
`;

async function start(program: string) {
  const clock = new ManualClock();
  const path = mkdtempSync(join(tmpdir(), 'chaos-electors-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  const folder = new RunFolder(path, clock);
  const tally = new Tally();
  const stop = new AbortController();
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const kubeconfig = join(path, 'kubeconfig');
  const context: WorkloadContext = {
    ...{ kubeconfig, namespace: 'chaos', serviceImage: 'image', folder, tally, clock, rate: 1 },
    connect: () => ({}) as HttpClient,
    create: async (_, object) => await Promise.resolve(object),
    random: () => 0,
    untilRight: async (look) => await untilRight(clock, look, { limitMs: 5_000 }),
    isLost: () => false,
    interrupted: NEVER,
    over: over.signal,
  };
  const running = await startElectors(context, stop.signal, [process.execPath, '-e', program, '--']);
  const finish = async () => {
    stop.abort();
    let wrong: readonly string[] | undefined;
    const finished = running.finish().then((found) => (wrong = found));
    await vi.waitFor(async () => {
      await clock.advance(1_000);
      expect(wrong).toBeDefined();
    }, 20_000);
    await folder[Symbol.asyncDispose]();
    return await finished;
  };
  const records = (name: string) =>
    readFileSync(join(path, 'clients', `${name}.jsonl`), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as ClientLine);
  return { clock, tally, kubeconfig, finish, records };
}

test('the leader is frozen and cut off by turns, and its terms and writes are recorded', async () => {
  const { clock, tally, kubeconfig, finish, records } = await start(PROGRAM);
  const toWrite = async () => {
    const before = tally.acknowledged;
    await vi.waitFor(() => expect(tally.acknowledged).toBeGreaterThan(before), 20_000);
  };
  await toWrite();
  const state = () => readFileSync(`/proc/${readFileSync(kubeconfig, 'utf8')}/stat`, 'utf8');
  await clock.advance(12_000);
  await vi.waitFor(() => expect(state()).toMatch(FROZEN));
  await clock.advance(10_000);
  await vi.waitFor(() => expect(state()).not.toMatch(FROZEN));
  await toWrite();
  await clock.advance(12_000);
  await toWrite();
  await clock.advance(10_000);
  await toWrite();
  expect(await finish()).toEqual([]);
  const lines = records('electors-0');
  const terms = lines.flatMap((line) => ('observe' in line ? [line.observe] : []));
  const [led, not] = ['leads', 'leads-not'];
  expect(terms).toEqual([led, not, led, not, led, not]);
  const [first, second, third] = lines.filter((line) => 'phase' in line && line.phase !== 'invoke');
  const write = { verb: 'patch', resource: 'configmaps', key: 'chaos/writer' };
  expect(first).toMatchObject({ ...write, phase: 'ok', resourceVersion: '7', uid: 'u' });
  expect(second).toMatchObject({ ...write, phase: 'fail', error: { code: 403, message: 'the term has ended' } });
  expect(third).toMatchObject({ ...write, phase: 'unknown', error: { message: 'no connection' } });
});

test('candidates that end by themselves, and that nobody writes, is wrong', async () => {
  const { finish } = await start(`process.stderr.write('boom'); process.exit(1)`);
  expect(await finish()).toEqual([
    'no candidate of the Lease writer writes',
    'electors-0 has ended: boom',
    'electors-1 has ended: boom',
  ]);
});
