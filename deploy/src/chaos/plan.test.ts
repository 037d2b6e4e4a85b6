import { seededRandom } from '@gantry/base';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { familyOf } from './fault.ts';
import { FAULT_KINDS } from './faults/index.ts';
import { formatPlan, parsePlan } from './plan-file.ts';
import { planCampaign } from './plan.ts';

const choices = { kinds: FAULT_KINDS, impossible: new Map<string, string>() };
const plan = (seed: number, intensity = 2, durationMs = 300_000) =>
  planCampaign({ shapes: FAULT_KINDS, durationMs, intensity }, seededRandom(seed));
const seeds = fc.integer({ min: 0, max: 2 ** 32 - 1 });

test('the same seed gives the same schedule, which its file holds whole', () => {
  fc.assert(
    fc.property(seeds, fc.integer({ min: 1, max: 10 }), (seed, intensity) => {
      const planned = plan(seed, intensity);
      expect(plan(seed, intensity)).toEqual(planned);
      expect(parsePlan(formatPlan(planned), choices)).toEqual(planned);
    }),
  );
});

test('other seeds give other schedules', () => {
  expect(new Set([1, 2, 3, 4].map((seed) => JSON.stringify(plan(seed)))).size).toBe(4);
});

test('faults of a round strike different services, at most one of them etcd, and some strike nobody else', () => {
  fc.assert(
    fc.property(seeds, fc.integer({ min: 1, max: 10 }), (seed, intensity) => {
      const planned = plan(seed, intensity);
      for (const round of new Set(planned.map((fault) => fault.round))) {
        const faults = planned.filter((fault) => fault.round === round);
        const families = faults.map(({ target }) => familyOf(target)).filter((family) => family !== 'pod');
        expect(new Set(families).size).toBe(families.length);
        const alone = faults.filter(({ kind }) => FAULT_KINDS.find((one) => one.kind === kind)?.company === 'alone');
        if (alone.length > 0) expect(faults).toHaveLength(1);
      }
    }),
  );
});

test('each fault has a kind that exists, one of its targets, and a duration within its bounds', () => {
  for (const fault of plan(7, 10, 3_600_000)) {
    const kind = FAULT_KINDS.find((one) => one.kind === fault.kind);
    expect(kind?.targets).toContain(fault.target);
    expect(kind?.peersOf?.(fault.target) ?? [undefined]).toContain(fault.peer);
    expect(fault.durationMs).toBeGreaterThanOrEqual(kind?.durationMs[0] ?? Number.NaN);
    expect(fault.durationMs).toBeLessThanOrEqual(kind?.durationMs[1] ?? Number.NaN);
  }
});

test('an hour has every kind of fault', () => {
  const kinds = new Set(plan(3, 3, 3_600_000).map(({ kind }) => kind));
  expect(FAULT_KINDS.map(({ kind }) => kind).filter((kind) => !kinds.has(kind))).toEqual([]);
});

const [fault] = plan(1);

test.each([
  ['not JSON', 'x', 'the file is not JSON'],
  ['another format', '{"format":2,"faults":[]}', 'format'],
  ['no fault', '{"format":1,"faults":[]}', 'faults'],
  ['a kind that does not exist', file({ kind: 'flood' }), 'faults.0.kind: there is no flood'],
  ['a target of another kind', file({ kind: 'etcd-kill', target: 'agent/1' }), 'faults.0.target'],
  [
    'a network fault without its other side',
    file({ kind: 'cut', target: 'agent/1', peer: undefined }),
    'faults.0.peer',
  ],
  ['a duration that is negative', file({ durationMs: -1 }), 'faults.0.durationMs'],
  ['a field that does not exist', file({ when: 1 }), 'when'],
])('a plan file with %s is refused with the field', (_, text, message) => {
  expect(() => parsePlan(text, choices)).toThrow(message);
});

test('a plan file with a fault that this kernel cannot make is refused with the reason', () => {
  const impossible = new Map([['delay', 'the kernel has no sch_netem']]);
  expect(() => parsePlan(file({ kind: 'delay' }), { ...choices, impossible })).toThrow('the kernel has no sch_netem');
});

test('two faults with one id are refused', () => {
  expect(() => parsePlan(JSON.stringify({ format: 1, faults: [fault, fault] }), choices)).toThrow('faults.1.id');
});

function file(change: object): string {
  return JSON.stringify({ format: 1, faults: [{ ...fault, ...change }] });
}
