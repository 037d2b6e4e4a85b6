import { ManualClock } from '@gantry/base/testing';
import { silentLogger } from '@gantry/service';
import { expect, it } from 'vitest';
import { ImageList, nodeImages } from './image-list.ts';

const { signal } = new AbortController();

it('shows the largest images of an engine with a few of their names', () => {
  const listed = Array.from({ length: 60 }, (_, index) => ({
    id: `sha256:${index}`,
    sizeBytes: index,
    names: Array.from({ length: 7 }, (__, name) => `i${index}:${name}`),
  }));
  const shown = nodeImages(listed);
  expect(shown.map(({ sizeBytes }) => sizeBytes)).toEqual(Array.from({ length: 50 }, (_, index) => 59 - index));
  expect(shown[0]?.names).toEqual(['i59:0', 'i59:1', 'i59:2', 'i59:3', 'i59:4']);
});

it('lists images once a minute, and keeps the list when the engine does not answer', async () => {
  const clock = new ManualClock();
  const answers = ['a', undefined, 'b'];
  let lists = 0;
  const listImages = async () => {
    const name = answers[lists++];
    if (name === undefined) throw new Error('busy');
    return [{ id: name, sizeBytes: 1, names: [name] }];
  };
  const list = new ImageList({ listImages }, clock, silentLogger);
  const names = async () => (await list.read(signal)).map(({ names: [name] = [] }) => name);
  expect(await names()).toEqual(['a']);
  expect(await names()).toEqual(['a']);
  expect(lists).toBe(1);
  await clock.advance(60_000);
  expect(await names()).toEqual(['a']);
  expect(await names()).toEqual(['b']);
  expect(lists).toBe(3);
});
