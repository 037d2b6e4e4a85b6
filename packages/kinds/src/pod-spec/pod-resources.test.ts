import { type Container, formatFieldError, type PodSpec, type ResourceRequirements } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { defaultPodOnly } from './defaults.ts';
import { validatePodSpec } from './spec.ts';

const container = (resources: ResourceRequirements = {}, name = 'c'): Container => ({ name, image: 'i', resources });

describe('what a pod asks for as a whole', () => {
  const faults = (resources: ResourceRequirements, spec: Partial<PodSpec> = {}) =>
    validatePodSpec({ containers: [container()], ...spec, resources }, 'spec')
      .filter(({ field }) => field.startsWith('spec.resources'))
      .map((error) => `${error.field}: ${formatFieldError(error)}`);

  it('is CPU, memory and huge pages, as much as its containers or more', () => {
    const containers = [container({ requests: { cpu: '600m' }, limits: { memory: '1Gi' } }), container({}, 'd')];
    const limits = { cpu: '2', memory: '1Gi' };
    expect(faults({ requests: { cpu: '600m', memory: '1Gi' }, limits }, { containers })).toEqual([]);
    expect(faults({ requests: { cpu: '1', 'hugepages-2Mi': '2Mi' }, limits: { 'hugepages-2Mi': '2Mi' } })).toEqual([]);
  });

  it.each<[string, ResourceRequirements, Partial<PodSpec>, string]>([
    [
      'another resource',
      { limits: { 'ephemeral-storage': '1Gi' } },
      {},
      'spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"',
    ],
    [
      'more resources than are checked one by one',
      { limits: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`r${i}`, '1'])) },
      {},
      'spec.resources.limits: Too many: 1001: must have at most 1000 items',
    ],
    [
      'claims',
      { claims: [{ name: 'a' }] },
      {},
      'spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level',
    ],
    [
      'less than its containers together',
      { requests: { cpu: '1' } },
      { containers: [container({ requests: { cpu: '600m' } }), container({ requests: { cpu: '600m' } }, 'd')] },
      'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 1200m',
    ],
    [
      'fewer huge pages than its containers',
      { requests: { cpu: '1', 'hugepages-2Mi': '2Mi' }, limits: { 'hugepages-2Mi': '2Mi' } },
      { containers: [container({ limits: { 'hugepages-2Mi': '4Mi' } })] },
      'spec.resources.limits[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal to aggregate container limits of 4Mi',
    ],
    [
      'a smaller limit than one of its containers',
      { limits: { memory: '1Gi' } },
      { containers: [container(), container({ limits: { memory: '2Gi' } }, 'd')] },
      'spec.resources.containers[1][memory].limits: Invalid value: "2Gi": must be less than or equal to pod limits of 1Gi',
    ],
    [
      'more than its limit',
      { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } },
      {},
      'spec.resources.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi',
    ],
    [
      'anything on Windows',
      { limits: { memory: '1Gi' } },
      { os: { name: 'windows' } },
      'spec.resources: Forbidden: may not be set for a windows pod',
    ],
  ])('is not %s', (_, resources, spec, fault) => {
    expect(faults(resources, spec)).toContain(fault);
  });

  it('may be limited below the sum of its containers’ limits', () => {
    const containers = [container({ limits: { memory: '1Gi' } }), container({ limits: { memory: '1Gi' } }, 'd')];
    expect(faults({ limits: { memory: '1Gi' } }, { containers })).toEqual([]);
  });
});

describe('what a pod does not say of its own resources', () => {
  const defaulted = (resources: ResourceRequirements, ...containers: Container[]) => {
    const spec: PodSpec = { containers, resources };
    defaultPodOnly(spec);
    return spec.resources;
  };

  it('is what its containers request, and else its limits', () => {
    const limits = { cpu: '2', memory: '1Gi' };
    expect(
      defaulted({ limits }, container({ requests: { cpu: '500m' } }), container({ limits: { cpu: '1' } }, 'd')),
    ).toEqual({ limits, requests: { cpu: '1500m', memory: '1Gi' } });
    expect(defaulted({ limits, requests: { cpu: '1' } }, container({ requests: { cpu: '500m' } }))?.requests).toEqual({
      cpu: '1',
      memory: '1Gi',
    });
    expect(defaulted({ limits: { memory: '1Gi' } }, container({ requests: { cpu: '1' } }))?.requests).toEqual({
      cpu: '1',
      memory: '1Gi',
    });
  });

  it('is nothing where it has no limits', () => {
    expect(defaulted({ requests: { cpu: '1' } }, container({ requests: { memory: '1Gi' } }))).toEqual({
      requests: { cpu: '1' },
    });
    expect(defaulted({}, container({ limits: { 'hugepages-2Mi': '4Mi' } }))).toEqual({});
  });

  it('is the huge pages of its containers', () => {
    const pages = container({ limits: { 'hugepages-2Mi': '4Mi' }, requests: { cpu: '1' } });
    expect(defaulted({ requests: { cpu: '1' } }, pages)).toEqual({
      limits: { 'hugepages-2Mi': '4Mi' },
      requests: { cpu: '1', 'hugepages-2Mi': '4Mi' },
    });
  });

  it('is never a resource that only containers have', () => {
    const limits = { 'ephemeral-storage': '1Gi', memory: '1Gi', cpu: '1' };
    expect(defaulted({ limits: { memory: '2Gi' } }, container({ limits }))?.requests).toEqual({
      cpu: '1',
      memory: '1Gi',
    });
  });
});
