import { describe, expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { fileOwnersOf } from './file-owners.ts';

const user = (name: string, runAsUser?: number) =>
  container(name, runAsUser === undefined ? {} : { securityContext: { runAsUser } });

describe('the owners of the files of volumes', () => {
  it('are the group of the pod, and how it is given', () => {
    expect(fileOwnersOf(pod()).group).toBeUndefined();
    expect(fileOwnersOf(pod({ securityContext: { fsGroup: 0 } }))).toMatchObject({ group: 0, change: 'always' });
    const policy = { fsGroup: 7, fsGroupChangePolicy: 'OnRootMismatch' };
    expect(fileOwnersOf(pod({ securityContext: policy }))).toMatchObject({ group: 7, change: 'on-root-mismatch' });
  });

  it.each([
    ['of the pod', 5, [user('a'), user('b')], 5],
    ['of each container, where it is the same', undefined, [user('a', 5), user('b', 5)], 5],
    ['root', 0, [user('a')], 0],
    ['none where one container names none', undefined, [user('a', 5), user('b')], undefined],
    ['none where two containers differ', 5, [user('a'), user('b', 6)], undefined],
  ])('are the user %s', (_, runAsUser, containers, expected) => {
    const shared = runAsUser === undefined ? {} : { securityContext: { runAsUser } };
    expect(fileOwnersOf(pod({ ...shared, containers })).user).toBe(expected);
  });

  it('are no user where an init container has another one', () => {
    const owners = fileOwnersOf(pod({ containers: [user('a', 5)], initContainers: [user('i', 6)] }));
    expect(owners.user).toBeUndefined();
  });
});
