import type { Pod, ResourceQuota } from '@gantry/api';
import { describe, expect, it } from 'vitest';
import { planQuota } from './plan.ts';

const of = { group: '', resource: 'pods' };
const pod = (cpu: string, phase = 'Running', spec: object = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n' },
  spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }], ...spec },
  status: { phase },
});
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
    expect(planQuota(quota({ hard }), objects)).toEqual([{ kind: 'updateStatus', status }]);
    expect(planQuota(quota({ hard }, status), objects)).toEqual([]);
  });

  it('counts only what is in its scopes', () => {
    const ending = { of, object: pod('100m', 'Running', { activeDeadlineSeconds: 5 }) };
    const [action] = planQuota(quota({ hard, scopes: ['Terminating'] }), [...objects, ending]);
    expect(action?.status.used).toEqual({ pods: '1', 'requests.cpu': '100m', secrets: '0' });
  });

  it('is left alone while the quota goes away', () => {
    const going = quota({ hard });
    going.metadata.deletionTimestamp = '2030-01-01T00:00:00Z';
    expect(planQuota(going, objects)).toEqual([]);
  });
});
