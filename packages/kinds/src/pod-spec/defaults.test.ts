import { describe, expect, it } from 'vitest';
import { defaultPullPolicy } from './defaults.ts';
import { podQosClass } from '../core/pod/qos.ts';

describe('the pull policy of an image', () => {
  it.each([
    ['nginx', 'Always'],
    ['nginx:latest', 'Always'],
    ['registry:5000/nginx', 'Always'],
    ['registry:5000/team/nginx:latest', 'Always'],
    ['nginx:1.27', 'IfNotPresent'],
    ['registry:5000/nginx:1.27', 'IfNotPresent'],
    [`nginx@sha256:${'a'.repeat(64)}`, 'IfNotPresent'],
    ['a'.repeat(64), 'IfNotPresent'],
    ['NotAnImage', 'IfNotPresent'],
    ['', 'IfNotPresent'],
  ])('%s is pulled %s', (image, policy) => {
    expect(defaultPullPolicy(image)).toBe(policy);
  });
});

describe('the quality of service of a pod', () => {
  const pod = (...resources: { requests?: Record<string, string>; limits?: Record<string, string> }[]) =>
    podQosClass({ containers: resources.map((one, i) => ({ name: `c${i}`, resources: one })) });
  const full = { cpu: '1', memory: '1Gi' };

  it('is the best effort when nothing is asked for', () => {
    expect(pod({}, { requests: { cpu: '0' } })).toBe('BestEffort');
  });

  it('is guaranteed when every container asks for all that it may use', () => {
    expect(pod({ requests: full, limits: { cpu: '1000m', memory: '1024Mi' } })).toBe('Guaranteed');
    expect(pod({ requests: full, limits: full }, {})).toBe('Burstable');
    expect(pod({ requests: { ...full, cpu: '500m' }, limits: full })).toBe('Burstable');
    expect(pod({ requests: { cpu: '1' }, limits: { cpu: '1' } })).toBe('Burstable');
  });
});
