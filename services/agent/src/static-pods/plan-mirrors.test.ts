import type { Pod } from '@gantry/objects';
import { expect, it } from 'vitest';
import { pod } from '../testing/pods.ts';
import { mirrorOf, planMirrors } from './plan-mirrors.ts';

const [ONE, TWO] = ['1'.repeat(32), '2'.repeat(32)];
const NODE = { name: 'n', uid: 'node-uid' };
const staticPod = (uid: string): Pod => pod({}, {}, { uid, annotations: { 'kubernetes.io/config.hash': uid } });
const mirror = (uid: string, change: Partial<Pod['metadata']> = {}): Pod => {
  const object = mirrorOf(staticPod(uid), NODE);
  return { ...object, metadata: { ...object.metadata, uid: `mirror-of-${uid}`, ...change } };
};

it('a mirror is what the file says, owned by the Node', () => {
  const { metadata, status } = mirrorOf(staticPod(ONE), NODE);
  expect(metadata).toEqual({
    name: 'web',
    namespace: 'default',
    annotations: { 'kubernetes.io/config.hash': ONE, 'kubernetes.io/config.mirror': ONE },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'node-uid', controller: true }],
  });
  expect(status).toBeUndefined();
});

it.each<[string, readonly Pod[], readonly Pod[], readonly string[], readonly string[]]>([
  ['a pod without a mirror gets one', [staticPod(ONE)], [], [], ['create']],
  ['a pod with its mirror needs nothing', [staticPod(ONE)], [mirror(ONE)], [ONE], []],
  [
    'a mirror that is being deleted makes room',
    [staticPod(ONE)],
    [mirror(ONE, { deletionTimestamp: '2026-01-01T00:00:00Z' })],
    [ONE],
    ['delete', 'create'],
  ],
  ['the mirror of an earlier file stays while that pod ends', [staticPod(TWO)], [mirror(ONE)], [ONE, TWO], []],
  ['and goes after it', [staticPod(TWO)], [mirror(ONE)], [TWO], ['delete', 'create']],
  ['the mirror of a removed file stays while its pod ends', [], [mirror(ONE)], [ONE], []],
  ['and goes after it too', [], [mirror(ONE)], [], ['delete']],
  [
    'a mirror that claims to show another pod goes at once',
    [staticPod(ONE)],
    [mirror(ONE), mirror(ONE, { name: 'false' })],
    [ONE],
    ['delete'],
  ],
])('%s', (_, statics, mirrors, active, kinds) => {
  const actions = planMirrors(statics, mirrors, (uid) => active.includes(uid));
  expect(actions.map(({ kind }) => kind)).toEqual(kinds);
});
