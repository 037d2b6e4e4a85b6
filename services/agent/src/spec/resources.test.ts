import { describe, expect, it } from 'vitest';
import { container, ENGINE, pod } from '../testing/pods.ts';
import { groupResources, memoryLimitOf, podResources, resourceLimits } from './resources.ts';

describe('resources', () => {
  it.each([
    [{}, { cpuShares: 2 }],
    [{ requests: { cpu: '100m' } }, { cpuShares: 102 }],
    [{ limits: { cpu: '500m', memory: '64Mi' } }, { cpuShares: 512, cpuQuotaMicros: 50_000, memoryBytes: 67_108_864 }],
    [{ limits: { cpu: '1m' } }, { cpuShares: 2, cpuQuotaMicros: 1000 }],
  ])('%j become %j', (resources, expected) => {
    expect(resourceLimits(pod(), container('main', { resources }))).toEqual(expected);
  });

  it('add up to the memory of a pod: what runs at a time, and none where a container has no limit', () => {
    const of = (name: string, memory: string, restartPolicy?: string) =>
      container(name, { resources: { limits: { memory } }, ...(restartPolicy === undefined ? {} : { restartPolicy }) });
    const containers = [of('a', '10'), of('b', '20')];
    expect(memoryLimitOf(pod({ containers }))).toBe(30);
    expect(memoryLimitOf(pod({ containers, initContainers: [of('s', '5', 'Always'), of('i', '50')] }))).toBe(55);
    expect(memoryLimitOf(pod({ containers, initContainers: [of('i', '50'), of('s', '5', 'Always')] }))).toBe(50);
    expect(memoryLimitOf(pod({ containers: [...containers, container('c')] }))).toBe(0);
  });

  it('are those of the pod where a container has no limit, as kubelet counts them', () => {
    const whole = pod({ resources: { limits: { cpu: '2', memory: '1Gi' } } });
    const all = { cpuQuotaMicros: 200_000, memoryBytes: 2 ** 30 };
    expect(resourceLimits(whole, container('c'))).toEqual({ cpuShares: 2048, ...all });
    expect(resourceLimits(whole, container('c', { resources: { requests: { cpu: '1' } } }))).toEqual({
      cpuShares: 1024,
      ...all,
    });
    const resources = { limits: { cpu: '1', memory: '1Mi' } };
    expect(resourceLimits(whole, container('c', { resources }))).toEqual({
      cpuShares: 1024,
      cpuQuotaMicros: 100_000,
      memoryBytes: 2 ** 20,
    });
  });
});

describe('pod-level resources', () => {
  const limits = (cpu: string, memory: string) => ({ resources: { limits: { cpu, memory }, requests: { cpu } } });
  const containers = [container('a', limits('1', '1Mi')), container('b', limits('500m', '1Mi'))];

  it('are what it says, and else what its containers have together', () => {
    const own = { requests: { cpu: '2' }, limits: { cpu: '3', memory: '1Gi' } };
    expect(podResources(pod({ containers, resources: own }))).toEqual({
      cpuShares: 2048,
      cpuQuotaMicros: 300_000,
      memoryBytes: 2 ** 30,
    });
    expect(podResources(pod({ containers, resources: { requests: { memory: '2Mi' } } }))).toEqual({
      cpuShares: 1536,
      cpuQuotaMicros: 150_000,
      memoryBytes: 2 ** 21,
    });
  });

  it('have no limit where one of its containers has none', () => {
    const open = [...containers, container('c')];
    expect(podResources(pod({ containers: open, resources: { requests: { cpu: '2' } } }))).toEqual({ cpuShares: 2048 });
    expect(podResources(pod({ containers: open, resources: { limits: { memory: '1Gi' } } }))).toEqual({
      cpuShares: 1536,
      memoryBytes: 2 ** 30,
    });
  });

  it('include its overhead', () => {
    const resources = { requests: { cpu: '1' }, limits: { memory: '1Mi' } };
    const overhead = { cpu: '500m', memory: '1Mi' };
    expect(podResources(pod({ resources, overhead }))).toEqual({ cpuShares: 1536, memoryBytes: 2 ** 21 });
  });

  it('are none of a pod that says nothing for itself, nor on an engine without groups for pods', () => {
    expect(podResources(pod({ containers }))).toBeUndefined();
    expect(podResources(pod({ containers, resources: {} }))).toBeUndefined();
    const whole = pod({ containers, resources: { requests: { cpu: '2' } } });
    expect(groupResources(whole, ENGINE)).toEqual(podResources(whole));
    expect(groupResources(whole, { podGroups: 'driver' })).toBeUndefined();
  });

  it('bound its volumes in memory', () => {
    expect(memoryLimitOf(pod({ resources: { limits: { memory: '5Mi' } } }))).toBe(5 * 2 ** 20);
  });
});
