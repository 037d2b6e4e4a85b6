import { expect, test } from 'vitest';
import { replacedImages } from './service-image.ts';

test('removes only our own images that the cluster no longer uses', () => {
  const before = ['gantry:1', 'gantry:1', 'gantry-pki:1', 'quay.io/coreos/etcd:v3.5.30'].map((image) => ({ image }));
  const after = ['gantry:2', 'gantry-pki:1', 'quay.io/coreos/etcd:v3.5.31'].map((image) => ({ image }));
  expect(replacedImages(before, after)).toEqual(['gantry:1']);
});
