import { describe, expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { memoryLimitOf, resourceLimits } from './resources.ts';

describe('resources', () => {
  it.each([
    [{}, { cpuShares: 2 }],
    [{ requests: { cpu: '100m' } }, { cpuShares: 102 }],
    [{ limits: { cpu: '500m', memory: '64Mi' } }, { cpuShares: 512, cpuQuotaMicros: 50_000, memoryBytes: 67_108_864 }],
    [{ limits: { cpu: '1m' } }, { cpuShares: 2, cpuQuotaMicros: 1000 }],
  ])('%j become %j', (resources, expected) => {
    expect(resourceLimits(container('main', { resources }))).toEqual(expected);
  });

  it('add up to the memory of a pod: what runs at a time, and none where a container has no limit', () => {
    const of = (name: string, memory: string, restartPolicy?: string) =>
      container(name, { resources: { limits: { memory } }, ...(restartPolicy === undefined ? {} : { restartPolicy }) });
    const containers = [of('a', '10'), of('b', '20')];
    expect(memoryLimitOf(pod({ containers }))).toBe(30);
    expect(memoryLimitOf(pod({ containers, initContainers: [of('i', '50'), of('s', '5', 'Always')] }))).toBe(55);
    expect(memoryLimitOf(pod({ containers: [...containers, container('c')] }))).toBe(0);
  });
});
