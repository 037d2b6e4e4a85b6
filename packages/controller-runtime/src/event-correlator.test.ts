import type { ObjectReference } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { EventCorrelator, type ReportedEvent } from './event-correlator.ts';

const MINUTE_MS = 60_000;
const POD: ObjectReference = { kind: 'Pod', namespace: 'a', name: 'p', uid: 'u', apiVersion: 'v1' };

function report(message: string, rest: Partial<ReportedEvent> = {}): ReportedEvent {
  return { about: POD, type: 'Normal', reason: 'R', message, ...rest };
}

describe('the correlation of Events', () => {
  let correlator: EventCorrelator;
  beforeEach(() => {
    let names = 0;
    correlator = new EventCorrelator(() => `e${++names}`);
  });

  it('counts equal ones in one, and keeps its name and first time', () => {
    expect(correlator.correlate(report('x'), 1)).toEqual({ name: 'e1', message: 'x', count: 1, first: 1 });
    expect(correlator.correlate(report('x'), 2)).toEqual({ name: 'e1', message: 'x', count: 2, first: 1 });
    expect(correlator.correlate(report('y'), 3)).toMatchObject({ name: 'e2', count: 1 });
    const part = report('x', { about: { ...POD, fieldPath: 'spec.containers{c}' } });
    expect(correlator.correlate(part, 4)).toMatchObject({ name: 'e3', count: 1 });
  });

  it('combines the tenth message of a reason and all further ones', () => {
    const made = Array.from({ length: 12 }, (_, i) => correlator.correlate(report(`m${i}`), i));
    expect(made.slice(0, 9).map((event) => event?.message)).toEqual(Array.from({ length: 9 }, (_, i) => `m${i}`));
    expect(made.slice(9).map((event) => [event?.name, event?.message, event?.count])).toEqual([
      ['e10', '(combined from similar events): m9', 1],
      ['e10', '(combined from similar events): m10', 2],
      ['e10', '(combined from similar events): m11', 3],
    ]);
  });

  it('combines as long as no ten minutes are between two of them', () => {
    for (let i = 0; i < 10; i++) correlator.correlate(report(`m${i}`), i);
    expect(correlator.correlate(report('late'), 10 * MINUTE_MS)?.message).toMatch(/^\(combined/);
    expect(correlator.correlate(report('later'), 20 * MINUTE_MS)?.message).toMatch(/^\(combined/);
    expect(correlator.correlate(report('too late'), 31 * MINUTE_MS)?.message).toBe('too late');
  });

  it('lets a burst of 25 pass for an object and a type, then one in five minutes', () => {
    const passed = (type: ReportedEvent['type'], at: number) =>
      Array.from({ length: 40 }, (_, i) =>
        correlator.correlate(report('x', { type, reason: `R${at}-${i}` }), at),
      ).filter((event) => event !== undefined).length;
    expect(passed('Normal', 0)).toBe(25);
    expect(passed('Warning', 0)).toBe(25);
    expect(passed('Normal', 4 * MINUTE_MS)).toBe(0);
    expect(passed('Normal', 5 * MINUTE_MS)).toBe(1);
    expect(correlator.correlate(report('x', { about: { ...POD, uid: 'other' } }), 0)).toBeDefined();
  });

  it('counts what it drops', () => {
    for (let i = 0; i < 40; i++) correlator.correlate(report('x'), 0);
    expect(correlator.correlate(report('x'), 5 * MINUTE_MS)).toMatchObject({ name: 'e1', count: 41 });
  });
});
