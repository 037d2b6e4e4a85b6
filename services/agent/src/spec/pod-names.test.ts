import { describe, expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { containerPath } from './pod-names.ts';

describe('paths of containers', () => {
  it('distinguish init containers from main ones', () => {
    const both = pod({ initContainers: [container('a')], containers: [container('b')] });
    expect(containerPath(both, 'a')).toBe('spec.initContainers{a}');
    expect(containerPath(both, 'b')).toBe('spec.containers{b}');
  });
});
