import { describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec } from './generated/types.ts';
import { podLimits, podRequests, resourcesOfPod } from './pod-requests.ts';

const container = (name: string, cpu: string, restartPolicy?: string): Container => ({
  name,
  image: 'i',
  resources: { requests: { cpu } },
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
});

const podOf = (spec: PodSpec): Pod => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });

function cpuOf(containers: Container[], initContainers: Container[], overhead?: Record<string, string>): number {
  const spec = { containers, initContainers, ...(overhead === undefined ? {} : { overhead }) };
  return podRequests(podOf(spec))['cpu'] ?? 0;
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

  it('are the pod-level ones where it has them, with the overhead', () => {
    const containers = [{ ...container('a', '100m'), resources: { requests: { cpu: '100m', memory: '1Mi' } } }];
    const resources = { requests: { cpu: '1', 'ephemeral-storage': '1Gi' } };
    expect(podRequests(podOf({ containers, resources, overhead: { cpu: '50m' } }))).toEqual({
      cpu: 1050,
      memory: 2 ** 20,
    });
  });
});

describe('the limits of a pod', () => {
  const limited = (limits: Record<string, string>): Container => ({ name: 'c', image: 'i', resources: { limits } });

  it('are those of its containers, or its own, with the overhead of what is limited', () => {
    const containers = [limited({ cpu: '1', memory: '1Mi' }), limited({ cpu: '500m' })];
    const overhead = { cpu: '50m', memory: '1Mi' };
    expect(podLimits(podOf({ containers, overhead }))).toEqual({ cpu: 1550, memory: 2 ** 21 });
    expect(podLimits(podOf({ containers: [limited({})], overhead }))).toEqual({});
    const resources = { limits: { cpu: '1', 'ephemeral-storage': '1Gi' } };
    expect(podLimits(podOf({ containers, resources }))).toEqual({ cpu: 1000, memory: 2 ** 20 });
  });
});

it('a pod says for itself what its requests or limits name', () => {
  const of = (resources: PodSpec['resources']) => [
    ...resourcesOfPod(podOf({ containers: [], ...(resources === undefined ? {} : { resources }) })),
  ];
  expect(of(undefined)).toEqual([]);
  expect(of({ requests: {}, limits: { 'ephemeral-storage': '1' } })).toEqual([]);
  expect(of({ requests: { cpu: '1' }, limits: { cpu: '1', memory: '1' } })).toEqual(['cpu', 'memory']);
});
