import { EVENTS, type Pod, StatusError } from '@gantry/objects';
import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { createEventRecorder, type EventWriter } from './event-writer.ts';
import { silentLog } from './testing/silent-log.ts';

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'a', uid: 'u', resourceVersion: '512' },
  spec: { containers: [] },
};
const { signal } = new AbortController();

describe('an event recorder', () => {
  let clock: ManualClock;
  let client: FakeObjectClient;
  let recorder: EventWriter;
  let started: number;
  beforeEach(() => {
    clock = new ManualClock();
    started = clock.monotonicMs();
    client = new FakeObjectClient(clock);
    recorder = createEventRecorder({
      client,
      component: 'kubelet',
      host: 'n1',
      clock,
      random: seededRandom(1),
      log: silentLog,
    });
  });
  const events = () => client.all(EVENTS);

  it('writes one Event named after its object', async () => {
    recorder.event(pod, 'Normal', 'Started', 'Started container c');
    await recorder.flush(signal);
    expect(events()).toHaveLength(1);
    expect(events()[0]).toMatchObject({
      metadata: { name: expect.stringMatching(/^p\.[0-9a-f]{16}$/), namespace: 'a' },
      involvedObject: { kind: 'Pod', name: 'p', uid: 'u', resourceVersion: '512' },
      source: { component: 'kubelet', host: 'n1' },
      count: 1,
      type: 'Normal',
    });
  });

  it('counts what repeats instead of writing it again', async () => {
    for (let i = 0; i < 3; i++) {
      recorder.event(pod, 'Warning', 'BackOff', 'Back-off restarting failed container');
      await recorder.flush(signal);
      await clock.advance(1000);
    }
    expect(events()).toHaveLength(1);
    expect(events()[0]).toMatchObject({ count: 3 });
    expect(events()[0]?.lastTimestamp).not.toBe(events()[0]?.firstTimestamp);
  });

  it('counts each part of an object for itself', async () => {
    for (const path of ['spec.containers{a}', 'spec.containers{b}', 'spec.containers{a}']) {
      recorder.event(pod, 'Normal', 'Started', 'Container started', path);
      await recorder.flush(signal);
    }
    expect(events().map(({ involvedObject, count }) => [involvedObject?.fieldPath, count])).toEqual([
      ['spec.containers{a}', 2],
      ['spec.containers{b}', 1],
    ]);
  });

  it('makes the Event again when it has gone meanwhile', async () => {
    recorder.event(pod, 'Normal', 'Started', 'x');
    await recorder.flush(signal);
    const name = events()[0]?.metadata.name ?? '';
    await client.delete(EVENTS, { namespace: 'a', name }, {}, signal);
    recorder.event(pod, 'Normal', 'Started', 'x');
    await recorder.flush(signal);
    expect(events().map(({ metadata, count }) => [metadata.name, count])).toEqual([[name, 2]]);
  });

  it('tries again while the API cannot be reached, but not what it refuses', async () => {
    client.failNext(() => true, new StatusError('ServiceUnavailable', 'no API server'), 2);
    recorder.event(pod, 'Normal', 'Started', 'x');
    await clock.advance(9000);
    expect(events()).toEqual([]);
    await clock.advance(11_000);
    expect(events()).toHaveLength(1);
    client.failNext(() => true, new StatusError('Forbidden', 'no'), 1);
    recorder.event(pod, 'Normal', 'Stopped', 'x');
    await clock.advance(60_000);
    expect(events()).toHaveLength(1);
  });

  it('does not wait for an API that cannot be reached when it is flushed', async () => {
    client.failNext(() => true, new StatusError('ServiceUnavailable', 'no API server'), Number.POSITIVE_INFINITY);
    recorder.event(pod, 'Normal', 'Started', 'x');
    recorder.event(pod, 'Normal', 'Stopped', 'x');
    await recorder.flush(signal);
    expect(events()).toEqual([]);
    expect(clock.monotonicMs()).toBe(started);
  });

  it('names Events of one moment differently', async () => {
    const same = createEventRecorder({ client, component: 'c', clock, random: () => 0.5, log: silentLog });
    for (const reason of ['A', 'B', 'C']) same.event(pod, 'Normal', reason, 'x');
    await same.flush(signal);
    expect(new Set(events().map(({ metadata }) => metadata.name)).size).toBe(3);
  });

  it('tells many different messages of one reason as one', async () => {
    for (let i = 0; i < 20; i++) recorder.event(pod, 'Normal', 'Scaled', `message ${i}`);
    await recorder.flush(signal);
    expect(events()).toHaveLength(10);
    expect(events().filter(({ message }) => message?.startsWith('(combined'))).toHaveLength(1);
  });

  it('writes a burst and then little about one object', async () => {
    for (let i = 0; i < 100; i++) recorder.event(pod, 'Normal', `Reason${i}`, 'x');
    await recorder.flush(signal);
    expect(events()).toHaveLength(25);
    await clock.advance(300_000);
    recorder.event(pod, 'Normal', 'Later', 'x');
    await recorder.flush(signal);
    expect(events()).toHaveLength(26);
  });
});
