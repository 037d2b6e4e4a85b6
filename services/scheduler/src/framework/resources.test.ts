import type { Container } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { podRequests } from './resources.ts';
import { examplePod } from '../testing/examples.ts';

const container = (name: string, cpu: string, restartPolicy?: string): Container => ({
  name,
  image: 'i',
  resources: { requests: { cpu } },
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
});

function cpuOf(containers: Container[], initContainers: Container[], overhead?: Record<string, string>): number {
  const spec = { containers, initContainers, ...(overhead === undefined ? {} : { overhead }) };
  return podRequests(examplePod('p', { spec }))['cpu'] ?? 0;
}

describe('the resources of a pod', () => {
  it('are the sum of its containers', () => {
    expect(cpuOf([container('a', '100m'), container('b', '0.2')], [])).toBe(300);
  });

  it('are at least those of its largest init container', () => {
    expect(cpuOf([container('a', '100m')], [container('i', '1'), container('j', '500m')])).toBe(1000);
  });

  it('count sidecars with the containers, and with later init containers', () => {
    const inits = [container('before', '600m'), container('sidecar', '200m', 'Always'), container('after', '500m')];
    expect(cpuOf([container('a', '300m')], inits)).toBe(700);
    expect(cpuOf([container('a', '600m')], inits)).toBe(800);
  });

  it('include the overhead', () => {
    expect(cpuOf([container('a', '100m')], [], { cpu: '50m' })).toBe(150);
  });
});
