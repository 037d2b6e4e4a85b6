import { describe, expect, it } from 'vitest';
import type { VolumeMount } from '@gantry/objects';
import { isAgentError } from '../runtime/agent-error.ts';
import { subPathOf } from './sub-path.ts';

const ENVIRONMENT = new Map([
  ['NAME', 'web'],
  ['EMPTY', ''],
  ['ROOT', '/etc'],
  ['UP', '..'],
]);
const mount = (change: Partial<VolumeMount>): VolumeMount => ({ name: 'v', mountPath: '/m', ...change });

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
    [{ subPathExpr: '$(EMPTY)$(NONE)' }, 'missing value for "EMPTY", "NONE"'],
    [{ subPath: 'a\0b' }, 'must not contain a zero byte'],
  ])('%j is refused', (change, message) => {
    expect(() => subPathOf(mount(change), ENVIRONMENT)).toThrow(
      expect.toSatisfy((error) => isAgentError(error, 'CreateContainerConfigError') && error.message.includes(message)),
    );
  });
});
