import type { Volume, VolumeMount } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { ENGINE, pod } from '../testing/pods.ts';
import { mountAccess, subPathOf } from './mount-access.ts';
import { isAgentError } from '../runtime/agent-error.ts';

const ENVIRONMENT = new Map([
  ['NAME', 'web'],
  ['EMPTY', ''],
  ['ROOT', '/etc'],
  ['UP', '..'],
]);
const mount = (change: Partial<VolumeMount>): VolumeMount => ({ name: 'v', mountPath: '/m', ...change });
const VOLUMES: readonly Volume[] = [
  { name: 'work', emptyDir: {} },
  { name: 'settings', configMap: { name: 'c' } },
  { name: 'image', image: { reference: 'busybox:1.36' } },
  { name: 'claim', persistentVolumeClaim: { claimName: 'c', readOnly: true } },
];
const accessOf = (name: string, mount: Partial<VolumeMount>, engine: Partial<typeof ENGINE> = {}) =>
  mountAccess(pod({ volumes: [...VOLUMES] }), { name, mountPath: '/m', ...mount }, { ...ENGINE, ...engine });
const old = { recursiveReadOnly: 'unsupported' } as const;

describe('the access of a mount', () => {
  it.each<[string, Partial<VolumeMount>, string]>([
    ['work', {}, 'read-write'],
    ['work', { readOnly: true }, 'read-only'],
    ['settings', {}, 'read-only'],
    ['claim', {}, 'read-only'],
    // The agent mounts it read-only, because the engine would remove its other flags.
    ['image', {}, 'read-write'],
    ['image', { readOnly: true }, 'read-write'],
    ['work', { readOnly: true, recursiveReadOnly: 'Disabled' }, 'read-only'],
    ['work', { readOnly: true, recursiveReadOnly: 'IfPossible' }, 'recursively-read-only'],
    ['work', { readOnly: true, recursiveReadOnly: 'Enabled' }, 'recursively-read-only'],
  ])('of %s with %o is %s', (name, mount, access) => {
    expect(accessOf(name, mount)).toEqual({ access, propagation: 'none' });
  });

  it('is not recursive on an engine that cannot, where that is allowed', () => {
    expect(accessOf('work', { readOnly: true, recursiveReadOnly: 'IfPossible' }, old).access).toBe('read-only');
    expect(() => accessOf('work', { readOnly: true, recursiveReadOnly: 'Enabled' }, old)).toThrow(
      'failed to resolve recursive read-only mode: volume "work" requested recursive read-only mode, but it is not supported by the runtime',
    );
  });

  it.each<[Partial<VolumeMount>, string]>([
    [{}, 'it is not read-only'],
    [
      { readOnly: true, mountPropagation: 'HostToContainer' },
      'it is not compatible with propagation "HostToContainer"',
    ],
  ])('is refused as recursive with %o', (mount, why) => {
    expect(() => accessOf('work', { ...mount, recursiveReadOnly: 'IfPossible' })).toThrow(why);
  });

  it.each([
    [undefined, 'none'],
    ['None', 'none'],
    ['HostToContainer', 'from-host'],
    ['Bidirectional', 'both'],
  ])('spreads mounts with %s: %s', (mountPropagation, propagation) => {
    const mount = mountPropagation === undefined ? {} : { mountPropagation };
    expect(accessOf('work', mount)).toEqual({ access: 'read-write', propagation });
  });
});

describe('the subPath of a mount', () => {
  it.each<[Partial<VolumeMount>, string]>([
    [{}, ''],
    [{ subPath: 'a/b' }, 'a/b'],
    [{ subPath: 'a..b/...' }, 'a..b/...'],
    [{ subPathExpr: 'logs/$(NAME)/$$(NAME)' }, 'logs/web/$(NAME)'],
  ])('%j gives %s', (change, expected) => {
    expect(subPathOf(mount(change), ENVIRONMENT)).toBe(expected);
  });

  it.each<[Partial<VolumeMount>, string]>([
    [{ subPath: '/etc' }, 'must not be an absolute path'],
    [{ subPath: 'a/../..' }, "must not contain '..'"],
    [{ subPathExpr: '$(ROOT)' }, 'must not be an absolute path'],
    [{ subPathExpr: 'a/$(UP)/$(UP)' }, "must not contain '..'"],
    [{ subPathExpr: '$(NAME)'.repeat(2_000) }, 'subPathExpr has 6000 bytes; a path has at most 4095'],
    [{ subPathExpr: '$(EMPTY)$(NONE)' }, 'missing value for "EMPTY", "NONE"'],
    [{ subPath: 'a\0b' }, 'must not contain a zero byte'],
  ])('%j is refused', (change, message) => {
    expect(() => subPathOf(mount(change), ENVIRONMENT)).toThrow(
      expect.toSatisfy((error) => isAgentError(error, 'CreateContainerConfigError') && error.message.includes(message)),
    );
  });
});
