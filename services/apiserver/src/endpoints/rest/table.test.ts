import type { KubeObject } from '@gantry/objects';
import { expect, it } from 'vitest';
import { partialMetadata } from './table.ts';

const object = (annotations: Record<string, string>): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'd', annotations },
});

it('shows metadata without annotations that stand for fields', () => {
  const shown = (annotations: Record<string, string>) =>
    partialMetadata({ fieldAnnotations: ['generation'] }, object(annotations), 'v1beta1');
  expect(shown({ generation: '1' })).toEqual({
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1beta1',
    metadata: { name: 'd' },
  });
  expect(shown({ generation: '1', a: 'b' })['metadata']).toEqual({ name: 'd', annotations: { a: 'b' } });
  expect(partialMetadata({}, object({ generation: '1' }))['metadata']).toEqual(object({ generation: '1' }).metadata);
});
