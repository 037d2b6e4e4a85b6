import { describe, expect, it } from 'vitest';
import { isAgentsLabel } from './agents-labels.ts';

describe('labels that an agent may write', () => {
  it.each([
    'disk',
    'example.com/disk',
    'kubernetes.io/hostname',
    'topology.kubernetes.io/zone',
    'node.kubernetes.io/anything',
    'sub.node.kubernetes.io/anything',
    'kubelet.kubernetes.io/anything',
    'notkubernetes.io/x',
  ])('are such as %s', (label) => {
    expect(isAgentsLabel(label)).toBe(true);
  });

  it.each([
    'node-restriction.kubernetes.io/team',
    'sub.node-restriction.kubernetes.io/team',
    'node-role.kubernetes.io/control-plane',
    'kubernetes.io/other',
    'x.k8s.io/other',
    'k8s.io/other',
    'topology.kubernetes.io/other',
    'gantry.dev/custodian',
    'sub.gantry.dev/x',
  ])('are not such as %s', (label) => {
    expect(isAgentsLabel(label)).toBe(false);
  });
});
