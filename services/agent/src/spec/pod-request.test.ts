import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { podRequest } from './pod-request.ts';

const MI = 2 ** 20;
const asking = (memory: string) => container('main', { resources: { requests: { memory } } });

it('the request of a pod contains its overhead', () => {
  const object = pod({ containers: [asking('64Mi')], overhead: { memory: '16Mi' } });
  expect(podRequest(object, 'memory')).toBe(80 * MI);
});

it('a pod without a request requests nothing, whatever its overhead', () => {
  expect(podRequest(pod({ overhead: { memory: '16Mi' } }), 'memory')).toBe(0);
  expect(podRequest(pod({ containers: [asking('64Mi')] }), 'ephemeral-storage')).toBe(0);
});

it('an amount that is older than its validation counts as nothing, as for admission', () => {
  expect(podRequest(pod({ containers: [asking('much')] }), 'memory')).toBe(0);
});
