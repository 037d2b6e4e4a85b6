import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { EVENTS, type Pod } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { createEventSeriesRecorder } from './event-series.ts';
import type { EventWriter } from './event-writer.ts';
import { silentLog } from './testing/silent-log.ts';

const MINUTE_MS = 60_000;
const { signal } = new AbortController();

const pod = (resourceVersion: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'a', uid: 'u', resourceVersion },
});

describe('Events as series', () => {
  let clock: ManualClock;
  let client: FakeObjectClient;
  let recorder: EventWriter;
  beforeEach(() => {
    clock = new ManualClock();
    client = new FakeObjectClient(clock);
    recorder = createEventSeriesRecorder({
      client,
      component: 'default-scheduler',
      instance: 'default-scheduler-host',
      actions: { Scheduled: 'Binding', FailedScheduling: 'Scheduling' },
      clock,
      random: () => 0.5,
      log: silentLog,
    });
  });
  const events = () => client.all(EVENTS);
  const fail = async (message: string, version = '1') => {
    recorder.event(pod(version), 'Warning', 'FailedScheduling', message);
    await clock.advance(1000);
  };

  it('have an action and no count', async () => {
    recorder.event(pod('1'), 'Normal', 'Scheduled', 'Successfully assigned a/p to n');
    await recorder.flush(signal);
    expect(events()).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: expect.objectContaining({ name: expect.stringMatching(/^p\.[0-9a-f]{16}$/), namespace: 'a' }),
        involvedObject: { kind: 'Pod', namespace: 'a', name: 'p', uid: 'u', apiVersion: 'v1', resourceVersion: '1' },
        eventTime: '2026-01-01T00:00:00.000000Z',
        reason: 'Scheduled',
        action: 'Binding',
        message: 'Successfully assigned a/p to n',
        source: {},
        type: 'Normal',
        reportingComponent: 'default-scheduler',
        reportingInstance: 'default-scheduler-host',
      },
    ]);
  });

  it('begin with the second of an object in one version, and count further ones when they end', async () => {
    await fail('no room');
    expect(events()[0]?.series).toBeUndefined();
    await fail('still no room');
    expect(events()).toHaveLength(1);
    expect(events()[0]).toMatchObject({ message: 'no room', series: { count: 2 } });
    await fail('no room');
    await fail('no room');
    expect(events()[0]?.series?.count).toBe(2);
    await clock.advance(12 * MINUTE_MS);
    expect(events()[0]?.series).toEqual({ count: 4, lastObservedTime: '2026-01-01T00:00:03.000000Z' });
    await fail('no room');
    expect(events()).toHaveLength(2);
  });

  it('have a message that the API takes', async () => {
    await fail('x'.repeat(1024));
    await fail(`${'y'.repeat(1024)}z`, '2');
    expect(events().map(({ message = '' }) => [message.length, message.slice(-5)])).toEqual([
      [1024, 'xxxxx'],
      [1024, 'y ...'],
    ]);
  });

  it('are apart for each version, type and reason', async () => {
    await fail('no room');
    await fail('no room', '2');
    recorder.event(pod('1'), 'Normal', 'Scheduled', 'x');
    await recorder.flush(signal);
    expect(events()).toHaveLength(3);
  });

  it('that go on are written every half hour', async () => {
    await fail('no room');
    const written: number[] = [];
    for (let minutes = 0; minutes < 62; minutes += 2) {
      await fail('no room');
      await clock.advance(2 * MINUTE_MS);
      written.push(events()[0]?.series?.count ?? 1);
    }
    expect(new Set(written).size).toBe(2);
    expect(events()).toHaveLength(1);
  });

  it('end without a timer', async () => {
    await fail('no room');
    recorder.close();
    await clock.advance(60 * MINUTE_MS);
    await fail('no room');
    expect(events()).toHaveLength(1);
  });
});
