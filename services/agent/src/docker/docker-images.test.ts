import { expect, it } from 'vitest';
import { LayerProgress } from './docker-images.ts';

it('the progress of a pull is that of its layers that have begun', () => {
  const progress = new LayerProgress();
  const downloading = (id: string, current: number, total: number) =>
    progress.note({ id, status: 'Downloading', progressDetail: { current, total } });
  expect(progress.note({ status: 'Pulling from library/app', id: '1.27' })).toBeUndefined();
  expect(progress.note({ status: 'Digest: sha256:1' })).toBeUndefined();
  expect(downloading('a', 10, 100)).toEqual({ bytes: 10, totalBytes: 100 });
  expect(downloading('b', 50, 300)).toEqual({ bytes: 60, totalBytes: 400 });
  expect(progress.note({ id: 'a', status: 'Download complete', progressDetail: {} })).toEqual({
    bytes: 150,
    totalBytes: 400,
  });
  expect(progress.note({ id: 'a', status: 'Extracting', progressDetail: { current: 1, total: 2 } })).toBeUndefined();
  // A layer of unknown size, or one that was already present.
  expect(downloading('c', 5, -1)).toBeUndefined();
  expect(progress.note({ id: 'd', status: 'Already exists' })).toBeUndefined();
});

const downloading = (id: string, current: number, total: number) => ({
  id,
  status: 'Downloading',
  progressDetail: { current, total },
});

it('a layer that is reported again replaces what was known of it', () => {
  const progress = new LayerProgress();
  progress.note(downloading('a', 10, 100));
  progress.note(downloading('b', 7, 30));
  expect(progress.note(downloading('a', 60, 100))).toEqual({ bytes: 67, totalBytes: 130 });
  // The download started again after a lost connection, with another size than announced.
  expect(progress.note(downloading('a', 5, 50))).toEqual({ bytes: 12, totalBytes: 80 });
});

it('layers and sizes beyond what an engine can store are not counted', () => {
  const progress = new LayerProgress();
  let last: unknown;
  for (let index = 0; index < 5_000; index++) last = progress.note(downloading(`layer-${index}`, 1, 2)) ?? last;
  expect(last).toEqual({ bytes: 256, totalBytes: 512 });
  expect(progress.note({ id: 'layer-4999', status: 'Download complete' })).toBeUndefined();
  for (const [current, total] of [
    [1, 1e308],
    [-1, 10],
    [Number.NaN, 10],
  ] as const)
    expect(progress.note(downloading('layer-1', current, total))).toBeUndefined();
  expect(progress.note({ id: 'layer-1', status: 'Download complete' })).toEqual({ bytes: 257, totalBytes: 512 });
});
