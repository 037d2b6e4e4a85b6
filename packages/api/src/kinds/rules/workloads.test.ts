import { describe, expect, it } from 'vitest';
import type { HorizontalPodAutoscaler, Pod } from '../../generated/types.ts';
import { cloneJson } from '../../object.ts';
import { toV1, toV2 } from './autoscaler-conversion.ts';
import { defaultClaimSpec, validateClaimSpec } from './claim-spec.ts';
import { scheduleFault, timeZoneFault } from './cron-schedule.ts';
import { validateEphemeralChange } from './ephemeral-containers.ts';
import { validateUnreservedPath } from './file-paths.ts';
import { countIndexes, findOverlap } from './index-list.ts';
import { validateResize } from './pod-resize.ts';

describe('a cron schedule', () => {
  it.each(['*/5 * * * *', '0 0 1 jan sun', '1,2-4/2 ? * * 0-6', '@daily', '@every 1h30m', 'CRON_TZ=Etc/UTC 0 0 * * *'])(
    '%s is one',
    (text) => {
      expect(scheduleFault(text)).toBeUndefined();
    },
  );

  it.each([
    ['* * *', 'expected exactly 5 fields, found 3: [* * *]'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
    ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['a * * * *', 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
    ['@often', 'unrecognized descriptor: @often'],
    ['@every day', 'failed to parse duration @every day: time: invalid duration "day"'],
    ['TZ=Nowhere * * * * *', 'provided bad location Nowhere: unknown time zone Nowhere'],
  ])('%s is none', (text, fault) => {
    expect(scheduleFault(text)).toBe(fault);
  });

  it('knows the zones of the runtime', () => {
    expect(timeZoneFault('Europe/Berlin')).toBeUndefined();
    expect(timeZoneFault('Europe/Nowhere')).toBe('unknown time zone Europe/Nowhere');
  });
});

describe('a list of indexes', () => {
  it.each([
    ['', 0],
    ['1,3-5', 4],
    ['1-2-3', /at most two parts/],
    ['a', /cannot convert string to integer for index: "a"/],
    ['9,10', /too large index: "10"/],
    ['3,2', /non-increasing order, previous: 3, current: 2/],
    ['5-5', /non-increasing order/],
  ])('%s is counted, or told to be none', (text, expected) => {
    const found = countIndexes(text, 10);
    if (typeof expected === 'number') expect(found).toBe(expected);
    else expect(typeof found === 'number' ? '' : found.fault).toMatch(expected);
  });

  it('finds what two lists share', () => {
    expect(findOverlap('0-2,7', '3-4,6-8', 10)).toBe('failedIndexes and completedIndexes overlap at index: 7');
    expect(findOverlap('0-2', '3-4', 10)).toBeUndefined();
  });
});

describe('an autoscaler', () => {
  const target = { type: 'AverageValue', averageValue: '10' };
  const object: HorizontalPodAutoscaler = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'a', annotations: { own: 'x' } },
    spec: {
      minReplicas: 1,
      maxReplicas: 5,
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
      metrics: [
        { type: 'Pods', pods: { metric: { name: 'm', selector: { matchLabels: { a: 'b' } } }, target } },
        {
          type: 'Object',
          object: {
            describedObject: { kind: 'Service', name: 's', apiVersion: 'v1' },
            metric: { name: 'o' },
            target: { type: 'Value', value: '3' },
          },
        },
        { type: 'External', external: { metric: { name: 'e' }, target } },
        { type: 'ContainerResource', containerResource: { name: 'memory', container: 'c', target } },
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
      ],
      behavior: {
        scaleUp: {
          stabilizationWindowSeconds: 0,
          selectPolicy: 'Max',
          policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }],
        },
      },
    },
    status: {
      desiredReplicas: 2,
      currentMetrics: [
        { type: 'Resource', resource: { name: 'cpu', current: { averageValue: '10m', averageUtilization: 7 } } },
      ],
      conditions: [{ type: 'AbleToScale', status: 'True', lastTransitionTime: '2030-01-01T00:00:00Z' }],
    },
  };

  it('comes back from its old version as it was', () => {
    expect(toV2(toV1(object))).toEqual(object);
  });

  it('shows its old version the CPU in fields and the rest in annotations', () => {
    const { spec, status, metadata } = toV1(object);
    expect(spec).not.toHaveProperty('metrics');
    expect(spec.targetCPUUtilizationPercentage).toBe(50);
    expect(status?.currentCPUUtilizationPercentage).toBe(7);
    expect(metadata.annotations).toHaveProperty(['autoscaling.alpha.kubernetes.io/behavior']);
    expect(metadata.annotations?.['own']).toBe('x');
  });

  it('of the old version aims at 80 % of the CPU when it names no metric, and drops annotations that hold none', () => {
    const old = toV1(object);
    delete old.spec.targetCPUUtilizationPercentage;
    old.metadata.annotations = { 'autoscaling.alpha.kubernetes.io/metrics': 'not json' };
    const { spec, metadata } = toV2(old);
    expect(spec.metrics?.[0]?.resource?.target.averageUtilization).toBe(80);
    expect(metadata.annotations).toBeUndefined();
  });
});

function pod(): Pod {
  const sizes = { cpu: '100m', memory: '1Mi' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: {
      containers: [{ name: 'c', image: 'i', resources: { requests: { ...sizes }, limits: { ...sizes, cpu: '1' } } }],
      ephemeralContainers: [{ name: 'e', image: 'i' }],
    },
  };
}

function changed(change: (object: Pod) => void): Pod {
  const object = cloneJson(pod());
  change(object);
  return object;
}

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

  it('may not change the quality of service', () => {
    const found = faults((object) => Object.assign(resources(object).requests ?? {}, { cpu: '1' }));
    expect(found).toEqual(['spec: Pod QOS Class may not change as a result of resizing']);
  });
});

describe('ephemeral containers', () => {
  it('may be added', () => {
    const added = changed((object) => object.spec?.ephemeralContainers?.push({ name: 'f', image: 'i' }));
    expect(validateEphemeralChange(added, pod())).toEqual([]);
  });

  it('may neither be changed nor taken away', () => {
    const other = changed((object) => Object.assign(object.spec?.ephemeralContainers?.[0] ?? {}, { image: 'j' }));
    const none = changed((object) => delete object.spec?.ephemeralContainers);
    expect(validateEphemeralChange(other, pod())[0]?.detail).toMatch(/may not be changed/);
    expect(validateEphemeralChange(none, pod())[0]?.detail).toMatch(/may not be removed/);
  });
});

it('knows no empty volume mode', () => {
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeMode: '' };
  defaultClaimSpec(spec);
  expect(validateClaimSpec(spec, 'spec').map(({ field }) => field)).toEqual(['spec.volumeMode']);
});

it('keeps two dots at the beginning of files for writers', () => {
  expect(validateUnreservedPath('..', 'p').map(({ detail }) => detail)).toEqual([
    "must not contain '..'",
    "must not start with '..'",
  ]);
  expect(validateUnreservedPath('../a', 'p').map(({ detail }) => detail)).toEqual(["must not contain '..'"]);
  expect(validateUnreservedPath('..a', 'p').map(({ detail }) => detail)).toEqual(["must not start with '..'"]);
});
