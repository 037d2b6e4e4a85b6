import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { check, checkUntil } from './check.ts';
import { type EditableRun, readRecordedRun, writeRun } from './testing/editable-run.ts';
import { MUTATIONS } from './testing/mutations.ts';
import type { InvariantVerdict } from './verdict.ts';

/** Parts of the recorded run. */
const CUTS = [0, 0.01, 0.2, 0.4, 0.6, 0.8, 0.95, 1.01];

let recorded: EditableRun;

beforeAll(async () => {
  recorded = await readRecordedRun();
});

const timeAt = ({ run }: EditableRun, part: number) => run.startedAtMs + part * (run.endedAtMs - run.startedAtMs);

/** `begun.json`: what is known when the recording begins. */
function begunOf({ run }: EditableRun): Readonly<Record<string, readonly object[]>> {
  const { quietFromRevision: _, quietFromMs: __, ...begun } = run;
  const end = { endedAt: run.startedAt, endedAtMs: run.startedAtMs, lastRevision: run.firstRevision - 1 };
  return { 'begun.json': [{ ...begun, ...end }] };
}

/** The files as they are when all lines before this time are written, and the next ones in part. */
async function writeBeginning(run: EditableRun, untilMs: number) {
  const before = <T extends { readonly atMs: number }>(lines: readonly T[]) =>
    lines.filter(({ atMs }) => atMs < untilMs);
  const shorter = (files: ReadonlyMap<string, readonly { readonly atMs: number }[]>) =>
    new Map([...files].map(([file, lines]) => [file, before(lines)]));
  const beginning = {
    ...run,
    history: before(run.history),
    engine: before(run.engine),
    faults: before(run.faults),
    clients: shorter(run.clients),
    metrics: shorter(run.metrics),
  } as EditableRun;
  const written = await writeRun(beginning, begunOf(run));
  const member = run.run.etcdMembers[0] ?? '';
  for (const file of [`etcd/${member}.jsonl`, 'engine/local.jsonl', 'faults.jsonl'])
    await appendFile(path.join(written.folder, file), `{"atMs":${untilMs},"ev`);
  return written;
}

const found = (invariants: readonly InvariantVerdict[]) =>
  invariants.flatMap(({ invariant, violations }) => violations.map(({ what, atMs }) => `${invariant} ${atMs} ${what}`));

describe('a run that is still recorded', () => {
  it.each(CUTS)(
    'has no violation when %d of it is recorded, as the whole run, whatever of it is written',
    async (part) => {
      const untilMs = timeAt(recorded, part);
      await using whole = await writeRun(recorded, begunOf(recorded));
      await using beginning = await writeBeginning(recorded, untilMs);
      const verdict = await checkUntil(whole.folder, untilMs);
      expect(found(verdict.invariants)).toEqual([]);
      expect(await checkUntil(beginning.folder, untilMs)).toEqual(verdict);
    },
  );

  it('says what it has judged, and what is decided at the end', async () => {
    await using whole = await writeRun(recorded, begunOf(recorded));
    const at = async (part: number) => (await checkUntil(whole.folder, timeAt(recorded, part))).invariants;
    const states = (invariants: readonly InvariantVerdict[]) =>
      Object.fromEntries(invariants.map(({ invariant, checked, notChecked }) => [invariant, notChecked ?? checked]));
    expect(states(await at(0))).toMatchObject({ I1: 'no terms yet', I21: 'decided at the end' });
    const last = states(await at(1.01));
    expect(last).toMatchObject({ I21: 'decided at the end', I23: 'decided at the end', I25: 'decided at the end' });
    for (const early of ['I1', 'I2', 'I7', 'I8', 'I11', 'I22', 'I35'])
      expect([early, last[early]]).toEqual([early, expect.any(Number)]);
    const { invariants } = await check(whole.folder);
    // What is counted so far is counted in the end.
    for (const { invariant, checked } of invariants)
      if (typeof last[invariant] === 'number')
        expect([invariant, last[invariant] <= checked]).toEqual([invariant, true]);
  });

  it.each(MUTATIONS.map((one, index) => ({ ...one, part: [0.3, 0.6, 0.9][index % 3] ?? 0.5 })))(
    '$invariant, $what: nothing is reported at $part that the whole run does not have',
    async ({ mutate, part }) => {
      const run = structuredClone(recorded);
      const more = mutate(run);
      await using written = await writeRun(run, { ...more, ...begunOf(run) });
      const all = new Set(found((await check(written.folder)).invariants));
      const untilMs = timeAt(run, part);
      for (const one of found((await checkUntil(written.folder, untilMs)).invariants)) expect([...all]).toContain(one);
    },
  );

  it('reports a violation as soon as it is recorded', async () => {
    const mutation = MUTATIONS.find(({ invariant }) => invariant === 'I7');
    const run = structuredClone(recorded);
    const more = mutation?.mutate(run);
    await using written = await writeRun(run, { ...more, ...begunOf(run) });
    const whole = (await check(written.folder)).invariants.find(({ invariant }) => invariant === 'I7');
    const [first] = whole?.violations ?? [];
    if (first === undefined) throw new TypeError('the mutation is not found');
    const at = async (untilMs: number) => found((await checkUntil(written.folder, untilMs)).invariants);
    const text = `I7 ${first.atMs} ${first.what}`;
    expect(await at(first.atMs)).not.toContain(text);
    expect(await at(first.atMs + 0.001)).toContain(text);
  });
});
