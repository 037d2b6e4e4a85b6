import type { Container, ResourceFieldSelector } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { container, nodeFacts, pod } from '../testing/pods.ts';
import { namedContainer, resourceField } from './field-values.ts';

const facts = nodeFacts(3500);
const LIMITS = { cpu: '1500m', memory: '64Mi', 'ephemeral-storage': '1Gi', 'hugepages-2Mi': '4Mi' };
const limited = container('main', { resources: { limits: LIMITS, requests: { cpu: '250m', memory: '32Mi' } } });
const value = (selector: ResourceFieldSelector, of: Container = limited, spec = {}) =>
  resourceField(pod(spec), of, selector, facts);

describe('the value of a resource field', () => {
  it.each([
    [{ resource: 'limits.cpu' }, '2'],
    [{ resource: 'limits.cpu', divisor: '1m' }, '1500'],
    [{ resource: 'requests.cpu', divisor: '0' }, '1'],
    [{ resource: 'limits.memory' }, String(64 * 2 ** 20)],
    [{ resource: 'limits.memory', divisor: '1Mi' }, '64'],
    [{ resource: 'limits.memory', divisor: '60Mi' }, '2'],
    [{ resource: 'requests.memory', divisor: '1Mi' }, '32'],
    [{ resource: 'limits.ephemeral-storage', divisor: '1Mi' }, '1024'],
    [{ resource: 'requests.ephemeral-storage' }, '0'],
    [{ resource: 'limits.hugepages-2Mi', divisor: '1Mi' }, '4'],
    [{ resource: 'requests.hugepages-2Mi' }, '0'],
    [{ resource: 'limits.pods' }, undefined],
    [{ resource: 'cpu' }, undefined],
  ])('of %o is %s', (selector, expected) => {
    expect(value(selector)).toBe(expected);
  });

  it('is what the node can give where the container has no limit, or one of zero', () => {
    for (const of of [container(), container('main', { resources: { limits: { cpu: '0', memory: '0' } } })]) {
      expect(value({ resource: 'limits.cpu', divisor: '1m' }, of)).toBe('3500');
      expect(value({ resource: 'limits.memory' }, of)).toBe(String(2 ** 30));
      expect(value({ resource: 'limits.ephemeral-storage' }, of)).toBe(String(2 ** 34));
      expect(value({ resource: 'limits.hugepages-2Mi' }, of)).toBe('0');
      expect(value({ resource: 'requests.cpu' }, of)).toBe('0');
    }
  });

  it("is the pod's limit where the container has none", () => {
    const spec = { resources: { limits: { cpu: '700m', memory: '1Mi' } } };
    expect(value({ resource: 'limits.cpu', divisor: '1m' }, container(), spec)).toBe('700');
    expect(value({ resource: 'limits.cpu', divisor: '1m' }, limited, spec)).toBe('1500');
    expect(value({ resource: 'limits.memory' }, container(), spec)).toBe(String(2 ** 20));
  });

  it('is of the container that it names, which may be an init container', () => {
    const two = pod({ containers: [limited], initContainers: [container('init')] });
    const resource = 'limits.cpu';
    expect(namedContainer(two, { resource }, limited)).toBe(limited);
    expect(namedContainer(two, { resource, containerName: 'init' }, limited)?.name).toBe('init');
    expect(namedContainer(two, { resource, containerName: 'none' }, limited)).toBeUndefined();
  });
});
