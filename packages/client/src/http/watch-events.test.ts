import { isReason } from '@gantry/objects';
import { expect, it } from 'vitest';
import { watchEvents } from './watch-events.ts';

const added = (name: string) =>
  JSON.stringify({ type: 'ADDED', object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } } });
const EXPIRED = JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });

/** The object names of each batch, and the error at the end. */
async function batchesOf(...chunks: Buffer[]): Promise<{ names: (string | undefined)[][]; error?: unknown }> {
  const names: (string | undefined)[][] = [];
  const response = (async function* () {
    yield* chunks;
  })();
  try {
    for await (const events of watchEvents(response)) {
      names.push(events.map((event) => (event.type === 'BOOKMARK' ? event.type : event.object.metadata.name)));
    }
  } catch (error) {
    return { names, error };
  }
  return { names };
}

it('gives events that come together in one batch', async () => {
  const text = ['a', 'b', 'c'].map((name) => `${added(name)}\n`).join('');
  expect(await batchesOf(Buffer.from(text), Buffer.from(`${added('d')}\n`))).toEqual({
    names: [['a', 'b', 'c'], ['d']],
  });
});

it('puts together events that come in pieces, wherever they are cut', async () => {
  const bytes = Buffer.from(`${added('ä€😀')}\n${added('second')}\n`);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const { names } = await batchesOf(bytes.subarray(0, cut), bytes.subarray(cut));
    expect(names.flat()).toEqual(['ä€😀', 'second']);
  }
  const single = Array.from(bytes, (byte) => Buffer.of(byte));
  expect((await batchesOf(...single)).names).toEqual([['ä€😀'], ['second']]);
});

it('reads the last event also when its line does not end, and skips empty lines', async () => {
  expect(await batchesOf(Buffer.from(`\n\n${added('a')}\n\n${added('b')}`))).toEqual({ names: [['a'], ['b']] });
});

it('gives the events before an error that comes with them, and none after it', async () => {
  const { names, error } = await batchesOf(Buffer.from(`${added('a')}\n${EXPIRED}\n${added('b')}\n`));
  expect(names).toEqual([['a']]);
  expect(isReason(error, 'Expired')).toBe(true);
});
