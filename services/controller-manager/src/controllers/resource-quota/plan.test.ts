import type { Pod, ResourceQuota } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type CountedObject, planQuota as plan } from './plan.ts';

const NOW = Date.parse('2030-01-01T00:01:00Z');
const of = { group: '', resource: 'pods' };
const pod = (cpu: string, phase = 'Running', spec: object = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n' },
  spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }], ...spec },
  status: { phase },
});
const planQuota = (of: ResourceQuota, counted: readonly CountedObject[], now: number) =>
  plan({ quota: of, objects: counted, unknown: [] }, now).actions;
const quota = (spec: object, status: object = {}): ResourceQuota => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name: 'q', namespace: 'n' },
  spec,
  status,
});
const hard = { pods: '3', 'requests.cpu': '1', secrets: '2' };
const objects = [pod('300m'), pod('200m'), pod('900m', 'Succeeded')].map((object) => ({ of, object }));

describe('the status of a quota', () => {
  it('counts what exists and has not ended', () => {
    const status = { hard, used: { pods: '2', 'requests.cpu': '500m', secrets: '0' } };
    expect(planQuota(quota({ hard }), objects, NOW)).toEqual([{ kind: 'updateStatus', status }]);
    expect(planQuota(quota({ hard }, status), objects, NOW)).toEqual([]);
  });

  it('counts only what is in its scopes', () => {
    const ending = { of, object: pod('100m', 'Running', { activeDeadlineSeconds: 5 }) };
    const [action] = planQuota(quota({ hard, scopes: ['Terminating'] }), [...objects, ending], NOW);
    expect(action?.status.used).toEqual({ pods: '1', 'requests.cpu': '100m', secrets: '0' });
  });

  it('counts no pod that should be gone by now', () => {
    const stuck = pod('100m');
    stuck.metadata.deletionTimestamp = '2030-01-01T00:00:00Z';
    stuck.metadata.deletionGracePeriodSeconds = 30;
    const late = { ...stuck, metadata: { ...stuck.metadata, deletionGracePeriodSeconds: 90 } };
    const [action] = planQuota(
      quota({ hard: { pods: '5', 'count/pods': '5' } }),
      [stuck, late].map((object) => ({ of, object })),
      NOW,
    );
    expect(action?.status.used).toEqual({ pods: '1', 'count/pods': '2' });
  });

  it('counts what a pod costs beyond its containers', () => {
    const limited = { name: 'c', resources: { requests: { cpu: '100m' }, limits: { cpu: '200m' } } };
    const overhead = { cpu: '50m', memory: '1Mi' };
    const object = pod('100m', 'Running', { containers: [limited], overhead });
    const names = { 'requests.cpu': '1', 'limits.cpu': '1', memory: '1Gi', 'limits.memory': '1Gi' };
    const [action] = planQuota(quota({ hard: names }), [{ of, object }], NOW);
    const used = { 'requests.cpu': '150m', 'limits.cpu': '250m', memory: '1Mi', 'limits.memory': '0' };
    expect(action?.status.used).toEqual(used);
  });

  it('counts what a pod still has while it shrinks', () => {
    const object = pod('100m');
    const resources = { requests: { cpu: '300m' } };
    const report = { name: 'c', image: '', imageID: '', ready: true, restartCount: 0, resources };
    const shrinking = { ...object, status: { phase: 'Running', containerStatuses: [report] } };
    const [action] = planQuota(quota({ hard: { cpu: '1' } }), [{ of, object: shrinking }], NOW);
    expect(action?.status.used).toEqual({ cpu: '300m' });
  });

  it('counts storage by class and classes of attributes, devices by class, and any objects', () => {
    const claim = (storage: string, spec: object, status: object = {}) => ({
      of: { group: '', resource: 'persistentvolumeclaims' },
      object: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'c', namespace: 'n' },
        spec: { resources: { requests: { storage } }, ...spec },
        status,
      },
    });
    const claims = [
      claim('1Gi', { storageClassName: 'gold', volumeAttributesClassName: 'fast' }),
      claim('500m', {}, { allocatedResources: { storage: '2Gi' } }),
      claim('500m', {}),
    ];
    const devices = {
      of: { group: 'resource.k8s.io', resource: 'resourceclaims' },
      object: {
        apiVersion: 'resource.k8s.io/v1',
        kind: 'ResourceClaim',
        metadata: { name: 'r', namespace: 'n' },
        spec: {
          devices: {
            requests: [
              { name: 'a', exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 2 } },
              { name: 'b', exactly: { deviceClassName: 'gpu', allocationMode: 'All' } },
              {
                name: 'c',
                firstAvailable: [
                  { name: 'x', deviceClassName: 'nic', allocationMode: 'ExactCount', count: 1 },
                  { name: 'y', deviceClassName: 'nic', allocationMode: 'ExactCount', count: 3 },
                ],
              },
            ],
          },
        },
      },
    };
    const gold = 'gold.storageclass.storage.k8s.io/';
    const counted = {
      'requests.storage': '3221225473',
      persistentvolumeclaims: '3',
      [`${gold}requests.storage`]: '1Gi',
      [`${gold}persistentvolumeclaims`]: '1',
      'gpu.deviceclass.resource.k8s.io/devices': '34',
      'nic.deviceclass.resource.k8s.io/devices': '3',
      'count/resourceclaims.resource.k8s.io': '1',
    };
    const all = [...claims, devices];
    const hardOf = (names: object) => Object.fromEntries(Object.keys(names).map((name) => [name, '9']));
    expect(planQuota(quota({ hard: hardOf(counted) }), all, NOW)[0]?.status.used).toEqual(counted);
    const scopeSelector = {
      matchExpressions: [{ scopeName: 'VolumeAttributesClass', operator: 'In', values: ['fast'] }],
    };
    const scoped = quota({ hard: { persistentvolumeclaims: '1' }, scopeSelector });
    expect(planQuota(scoped, all, NOW)[0]?.status.used).toEqual({ persistentvolumeclaims: '1' });
  });

  it('is counted while finalizers keep a quota that was deleted: it limits until it is gone', () => {
    const going = quota({ hard }, { hard, used: { pods: '3', 'requests.cpu': '1', secrets: '0' } });
    going.metadata.deletionTimestamp = '2030-01-01T00:00:00Z';
    const used = { pods: '2', 'requests.cpu': '500m', secrets: '0' };
    expect(planQuota(going, objects, NOW)).toEqual([{ kind: 'updateStatus', status: { hard, used } }]);
    expect(plan({ quota: undefined, objects, unknown: [] }, NOW).actions).toEqual([]);
  });

  it('keeps the last count of resources that cannot be listed', () => {
    const widgets = { group: 'example.com', resource: 'widgets' };
    const limits = { 'count/widgets.example.com': '5', pods: '3' };
    const known = { hard: limits, used: { 'count/widgets.example.com': '4', pods: '0' } };
    const [action] = plan({ quota: quota({ hard: limits }, known), objects, unknown: [widgets] }, NOW).actions;
    expect(action?.status.used).toEqual({ 'count/widgets.example.com': '4', pods: '2' });
    const [fresh] = plan({ quota: quota({ hard: limits }), objects, unknown: [widgets] }, NOW).actions;
    expect(fresh?.status.used).toEqual({ 'count/widgets.example.com': '0', pods: '2' });
  });
});
