import { expect, it } from 'vitest';
import { LayerProgress } from './pull-progress.ts';

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
  // Of unknown size, or one that was there already.
  expect(downloading('c', 5, -1)).toBeUndefined();
  expect(progress.note({ id: 'd', status: 'Already exists' })).toBeUndefined();
});
