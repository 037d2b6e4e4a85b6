import { describe, expect, it } from 'vitest';
import { type HorizontalPodAutoscaler } from '@gantry/objects';
import { toV1, toV2 } from './conversion.ts';

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
