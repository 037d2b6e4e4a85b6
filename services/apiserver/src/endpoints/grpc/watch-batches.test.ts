import { fromBinary } from '@bufbuild/protobuf';
import { type WatchBatch, WatchBatchSchema } from '@gantry/proto';
import { expect, it } from 'vitest';
import { SharedResponse } from '../../cache/index.ts';
import type { WatchItem } from '../../cache/object-response.ts';
import { packWatch } from './watch-batches.ts';

const item = (name: string, resourceVersion: string): WatchItem => {
  const metadata = { name, resourceVersion, managedFields: [] };
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
  return { type: 'MODIFIED', response: new SharedResponse(object, () => new Uint8Array()) };
};

async function messages(batches: readonly (readonly WatchItem[])[], shows: 'whole' | 'metadata') {
  async function* items() {
    yield* batches;
  }
  const packed: (WatchBatch | Uint8Array)[] = [];
  for await (const message of packWatch(items(), shows)) packed.push(message);
  return packed;
}

const decoded = (message: WatchBatch | Uint8Array): WatchBatch =>
  message instanceof Uint8Array ? fromBinary(WatchBatchSchema, message) : message;

const shown = (message: WatchBatch | Uint8Array) => {
  const { events, resourceVersion } = decoded(message);
  return [...events.map(({ type, object }) => `${type} ${Buffer.from(object).toString()}`), resourceVersion];
};

it('encodes a message of one event once for all watches', async () => {
  const batches = [[item('a', '7')]];
  const [[first], [second]] = await Promise.all([messages(batches, 'whole'), messages(batches, 'whole')]);
  expect(first).toBeInstanceOf(Uint8Array);
  expect(second).toBe(first);
  const json =
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7","managedFields":[]}}';
  expect(first === undefined ? [] : shown(first)).toEqual([`MODIFIED ${json}`, '7']);
});

it('has events that came together in one message, and shows those of metadata without managed fields', async () => {
  const together = await messages([[item('a', '7'), item('b', '8')]], 'whole');
  expect(together.map((message) => decoded(message).events.length)).toEqual([2]);
  expect(together.map((message) => decoded(message).resourceVersion)).toEqual(['8']);
  const json = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7"}}';
  expect((await messages([[item('a', '7')]], 'metadata')).map(shown)).toEqual([[`MODIFIED ${json}`, '7']]);
});
