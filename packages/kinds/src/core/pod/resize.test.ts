import { describe, expect, it } from 'vitest';
import { changed, pod } from '../../testing/example-pod.ts';
import { cloneJson, type Pod } from '@gantry/objects';
import { validateResize } from './resize.ts';

describe('a resize', () => {
  const faults = (change: (object: Pod) => void, old: Pod = pod()) =>
    validateResize(changed(change), old).map(({ field, detail }) => `${field}: ${detail}`);
  const resources = (object: Pod) => object.spec?.containers[0]?.resources ?? {};

  it('may change amounts of CPU and memory', () => {
    expect(faults((object) => Object.assign(resources(object).requests ?? {}, { cpu: '200m' }))).toEqual([]);
  });

  it.each<[string, (object: Pod) => void, string]>([
    [
      'take a request away',
      (object) => delete resources(object).requests?.['cpu'],
      'spec.containers[0].resources.requests: resource requests cannot be removed',
    ],
    [
      'add another resource',
      (object) => Object.assign(resources(object).limits ?? {}, { 'a.b/c': '1' }),
      'spec: only cpu and memory resources are mutable',
    ],
    [
      'rename a container',
      (object) => Object.assign(object.spec?.containers[0] ?? {}, { name: 'd' }),
      'spec.containers[0].name: containers may not be renamed or reordered on resize',
    ],
    [
      'add a container',
      (object) => object.spec?.containers.push({ name: 'd' }),
      'spec.containers: containers may not be added or removed on resize',
    ],
  ])('may not %s', (_, change, fault) => {
    expect(faults(change)).toContain(fault);
  });

  describe('of a pod as a whole', () => {
    const whole = { requests: { cpu: '500m' }, limits: { cpu: '1', memory: '1Gi' } };
    const old = (): Pod => {
      const object = pod();
      Object.assign(object.spec ?? {}, { resources: cloneJson(whole) });
      return object;
    };
    const found = (after: object | undefined) => {
      const object = old();
      Object.assign(object.spec ?? {}, { resources: after });
      if (after === undefined) delete object.spec?.resources;
      return validateResize(object, old()).map(({ field, detail }) => `${field}: ${detail}`);
    };

    it('may change amounts of CPU and memory, and add them', () => {
      expect(found({ requests: { cpu: '750m', memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi' } })).toEqual([]);
      expect(faults((object) => Object.assign(object.spec ?? {}, { resources: { limits: { cpu: '1' } } }))).toEqual([]);
    });

    it.each<[string, object | undefined, string]>([
      ['be removed', undefined, 'spec.resources: pod-level resources cannot be removed'],
      [
        'lose a request',
        { ...whole, requests: {} },
        'spec.resources.requests: pod-level resource requests cannot be removed',
      ],
      [
        'lose a limit',
        { ...whole, limits: { cpu: '1' } },
        'spec.resources.limits: pod-level resource limits cannot be removed',
      ],
      [
        'get huge pages',
        { ...whole, limits: { ...whole.limits, 'hugepages-2Mi': '2Mi' } },
        'spec: only cpu and memory resources are mutable at pod-level',
      ],
    ])('may not %s', (_, after, fault) => {
      expect(found(after)).toEqual([fault]);
    });
  });

  it('may not change the quality of service', () => {
    const found = faults((object) => Object.assign(resources(object).requests ?? {}, { cpu: '1' }));
    expect(found).toEqual(['spec: Pod QOS Class may not change as a result of resizing']);
  });
});
