import { describe, expect, it } from 'vitest';
import { type Pod, type PodSpec, cloneJson } from '@gantry/objects';
import { validatePodChange } from './update.ts';

const SPEC: PodSpec = {
  containers: [{ name: 'c', image: 'nginx:1', resources: {} }],
  tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }],
};

function pod(change: (spec: PodSpec) => void = () => undefined): Pod {
  const spec = cloneJson(SPEC);
  change(spec);
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec };
}

function check(change: (spec: PodSpec) => void, before: Pod = pod()): string[] {
  const after = cloneJson(before);
  change(after.spec ?? { containers: [] });
  return validatePodChange(after, before).map(({ field, detail }) => `${field}: ${detail.split('\n')[0] ?? ''}`);
}

describe('a change of a pod', () => {
  it('may bring another image, a shorter deadline and more tolerations', () => {
    expect(check(({ containers }) => containers.forEach((container) => (container.image = 'nginx:2')))).toEqual([]);
    expect(check((spec) => (spec.activeDeadlineSeconds = 5))).toEqual([]);
    expect(check((spec) => spec.tolerations?.push({ key: 'l', operator: 'Exists' }))).toEqual([]);
    expect(check((spec) => spec.tolerations?.forEach((one) => (one.tolerationSeconds = 9)))).toEqual([]);
  });

  it('that makes it of another class of service is refused as any other', () => {
    const limited = pod(({ containers }) =>
      containers.forEach((container) => (container.resources = { limits: { cpu: '1' } })),
    );
    expect(check(({ containers }) => containers.forEach((container) => (container.resources = {})), limited)).toEqual([
      expect.stringMatching(/^spec: pod updates may not change fields/),
    ]);
  });

  it('may not lengthen or lift the deadline', () => {
    const limited = pod((spec) => (spec.activeDeadlineSeconds = 5));
    expect(check((spec) => (spec.activeDeadlineSeconds = 6), limited)).toEqual([
      'spec.activeDeadlineSeconds: must be less than or equal to previous value',
    ]);
    expect(check((spec) => delete spec.activeDeadlineSeconds, limited)).toEqual([
      'spec.activeDeadlineSeconds: must not update from a positive integer to nil value',
    ]);
  });

  it('may not take tolerations away or containers in', () => {
    expect(check((spec) => (spec.tolerations = []))).toEqual([
      'spec.tolerations: existing toleration can not be modified except its tolerationSeconds',
    ]);
    expect(check(({ containers }) => containers.push({ name: 'd', image: 'i' }))).toEqual([
      'spec.containers: pod updates may not add or remove containers',
    ]);
  });

  it('may open gates but not set up new ones, and choose nodes more narrowly while a gate is shut', () => {
    const gated = pod((spec) => (spec.schedulingGates = [{ name: 'g' }]));
    expect(check((spec) => delete spec.schedulingGates, gated)).toEqual([]);
    expect(check((spec) => (spec.nodeSelector = { a: 'b' }), gated)).toEqual([]);
    expect(check((spec) => spec.schedulingGates?.push({ name: 'h' }), gated)).toEqual([
      "spec.schedulingGates: only deletion is allowed, but found new scheduling gate 'h'",
    ]);
  });

  it('is told apart from what may change, line by line', () => {
    const after = pod((spec) => (spec.nodeName = 'n'));
    const [error] = validatePodChange(after, pod());
    expect(error?.detail).toContain('- "NodeName": "",\n+ "NodeName": "n",\n');
    expect(error?.detail.match(/^[-+]/gm)).toHaveLength(2);
  });
});
