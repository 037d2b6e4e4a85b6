import type { Binding, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { definitionOf } from '../testing.ts';
import { bindPod } from './bind.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const POD: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n', uid: 'uid', resourceVersion: '256' },
  spec: { containers: [] },
};
const BINDING: Binding = {
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name: 'p' },
  target: { kind: 'Node', name: 'w' },
};
const bind = (pod: Pod, binding = BINDING) => bindPod(pod, binding, definitionOf('pods'), NOW);

describe('a binding', () => {
  it('assigns a pod to a node', () => {
    const bound = bind({ ...POD, status: { nominatedNodeName: 'v' } });
    expect(bound.spec?.nodeName).toBe('w');
    expect(bound.status).toMatchObject({ conditions: [{ type: 'PodScheduled', status: 'True' }] });
    expect(bound.status?.nominatedNodeName).toBeUndefined();
  });

  it('is refused of a pod that has a node, even the same one', () => {
    const assigned = { ...POD, spec: { containers: [], nodeName: 'w' } };
    expect(() => bind(assigned)).toThrow('pod p is already assigned to node "w"');
  });

  it('is refused of a pod that is being deleted, or waits for its gates', () => {
    const deleted = { ...POD, metadata: { ...POD.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(() => bind(deleted)).toThrow('pod p is being deleted, cannot be assigned to a host');
    const gated = { ...POD, spec: { containers: [], schedulingGates: [{ name: 'example.org/gate' }] } };
    expect(() => bind(gated)).toThrow('pod p has non-empty .spec.schedulingGates');
  });

  it('is refused of another pod of the name, or another version', () => {
    const of = (metadata: Binding['metadata']) => () => bind(POD, { ...BINDING, metadata });
    expect(of({ name: 'p', uid: 'other' })).toThrow('Precondition failed: UID in precondition: other');
    expect(of({ name: 'p', resourceVersion: '512' })).toThrow('the object has been modified');
    expect(of({ name: 'p', uid: 'uid', resourceVersion: '256' })).not.toThrow();
  });
});
