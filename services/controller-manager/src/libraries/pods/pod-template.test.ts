import type { ReplicaSet } from '@gantry/objects';
import { expect, it } from 'vitest';
import { podFromTemplate } from './pod-template.ts';

const template = {
  metadata: { name: 'ignored', labels: { app: 'a' }, annotations: { note: 'n' }, finalizers: ['example.org/f'] },
  spec: { containers: [{ name: 'c', image: 'i' }] },
};
const owner = (name: string): ReplicaSet => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name, namespace: 'n', uid: 'u' },
});

it('copies labels, annotations, finalizers and spec, and names the owner', () => {
  const reference = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'set', uid: 'u' };
  expect(podFromTemplate(template, owner('set'))).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: 'set-',
      namespace: 'n',
      labels: { app: 'a' },
      annotations: { note: 'n' },
      finalizers: ['example.org/f'],
      ownerReferences: [{ ...reference, controller: true, blockOwnerDeletion: true }],
    },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });
});

it('gives a pod that the caller may change', () => {
  const pod = podFromTemplate(template, owner('set'));
  expect(pod.spec).not.toBe(template.spec);
  expect(pod.metadata.labels).not.toBe(template.metadata.labels);
});

it('leaves the dash out where the name would be too long with it', () => {
  const longest = 'x'.repeat(253);
  expect(podFromTemplate(template, owner(longest)).metadata.generateName).toBe(longest);
  expect(podFromTemplate(template, owner(longest.slice(1))).metadata.generateName).toBe(`${longest.slice(1)}-`);
});
