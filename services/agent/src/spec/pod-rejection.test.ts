import { expect, it } from 'vitest';
import { ENGINE, pod } from '../testing/pods.ts';
import { podRejection } from './pod-rejection.ts';

it('limits of a pod as a whole are refused, its requests are not', () => {
  expect(podRejection(pod({ resources: { limits: { memory: '64Mi' } } }), ENGINE)).toEqual({
    reason: 'PodLevelResourcesNotSupported',
    message: 'this node does not enforce spec.resources.limits of a pod: set limits of its containers',
  });
  expect(podRejection(pod({ resources: { requests: { memory: '64Mi' } } }), ENGINE)).toBeUndefined();
});
