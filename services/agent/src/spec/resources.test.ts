import { describe, expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { oomScore, resourceLimits } from './resources.ts';

describe('resources', () => {
  it.each([
    [{}, { cpuShares: 2 }],
    [{ requests: { cpu: '100m' } }, { cpuShares: 102 }],
    [{ limits: { cpu: '500m', memory: '64Mi' } }, { cpuShares: 512, cpuQuotaMicros: 50_000, memoryBytes: 67_108_864 }],
    [{ limits: { cpu: '1m' } }, { cpuShares: 2, cpuQuotaMicros: 1000 }],
  ])('%j become %j', (resources, expected) => {
    expect(resourceLimits(container('main', { resources }))).toEqual(expected);
  });

  it('scores by class, never below zero where the engine refuses it', () => {
    const limited = container('main', { resources: { requests: { memory: '1Gi' } } });
    const of = (qosClass: string) => oomScore(pod({}, { qosClass }), limited, 4 * 2 ** 30, 'full');
    expect([of('Guaranteed'), of('Burstable'), of('BestEffort')]).toEqual([-997, 750, 1000]);
    expect(oomScore(pod({}, { qosClass: 'Guaranteed' }), limited, 1, 'no-sys-resource')).toBe(0);
  });
});
