import { type Event, EVENTS, type KubeObject, type Pod, StatusError } from '@gantry/objects';
import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { createEventRecorder, type EventRecorderOptions, type EventWriter } from './event-writer.ts';
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

  it('writes those that are there together, but what changes an Event after the Event', async () => {
    const calls: string[] = [];
    const answers: (() => void)[] = [];
    const answer = async (call: string) => {
      calls.push(call);
      await new Promise<void>((resolve) => answers.push(resolve));
    };
    const slow: EventRecorderOptions['client'] = {
      create: async (kind, object, abort) => {
        await answer(`create ${(object as KubeObject as Event).reason}`);
        return await client.create(kind, object, abort);
      },
      patch: async (kind, key, patch, abort) => {
        await answer('patch');
        return await client.patch(kind, key, patch, abort);
      },
    };
    const own = createEventRecorder({ client: slow, component: 'c', clock, random: () => 0.5, log: silentLog });
    for (const reason of ['A', 'B', 'C', 'B', 'D']) own.event(pod, 'Normal', reason, 'x');
    const written = own.flush(signal);
    await expect.poll(() => calls.splice(0)).toEqual(['create A']);
    answers.splice(0).forEach((resolve) => resolve());
    await expect.poll(() => calls.splice(0)).toEqual(['create B', 'create C', 'create D']);
    answers.splice(0).forEach((resolve) => resolve());
    await expect.poll(() => calls.splice(0)).toEqual(['patch']);
    answers.splice(0).forEach((resolve) => resolve());
    await written;
    expect(events().map(({ reason, count }) => [reason, count])).toEqual([
      ['A', 1],
      ['B', 2],
      ['C', 1],
      ['D', 1],
    ]);
  });

  it('loses no more Events the more there are while the API cannot be reached', async () => {
    const back = started + 150_000;
    const isAway = () => clock.monotonicMs() < back;
    client.failNext(isAway, new StatusError('ServiceUnavailable', 'no API server'), Number.POSITIVE_INFINITY);
    const pods = Array.from({ length: 40 }, (_, index) => ({
      ...pod,
      metadata: { ...pod.metadata, name: `p-${index}` },
    }));
    for (const one of pods) recorder.event(one, 'Normal', 'Started', 'x');
    await clock.advance(240_000);
    expect(events().length).toBeGreaterThanOrEqual(38);
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
