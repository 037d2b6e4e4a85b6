import { expect, it } from 'vitest';
import { pointsOf } from '../../framework/plugin.ts';
import { createPodInfo } from '../../framework/pod-info.ts';
import { planAssignments } from '../../plan.ts';
import { exampleNode, examplePod } from '../../testing/examples.ts';
import { SnapshotKeeper } from '../../framework/snapshot.ts';
import { imageLocality, withImages } from './image-locality.ts';

const MIB = 1024 * 1024;

/** Nodes with images, by the node's name: the image's name and its size in MiB. */
function snapshotOf(nodes: Readonly<Record<string, Readonly<Record<string, number>>>>, keeper = new SnapshotKeeper()) {
  for (const [name, sizes] of Object.entries(nodes)) {
    const node = exampleNode(name);
    const images = Object.entries(sizes).map(([image, mib]) => ({ names: [image], sizeBytes: mib * MIB }));
    keeper.setNode({ ...node, status: { ...node.status, images } });
  }
  return keeper.snapshot();
}

const podOf = (...images: string[]) =>
  createPodInfo(examplePod('p', { spec: { containers: images.map((image, i) => ({ name: `c${i}`, image })) } }));

// 100 * (size * share - 23 MiB) / (1000 MiB * containers - 23 MiB), rounded down.
it.each([
  ['the tag latest where there is none', ['app'], { a: { 'app:latest': 1000 }, b: {} }, [48, 0]],
  ['a port of the registry, which is no tag', ['r:5000/app'], { a: { 'r:5000/app:latest': 1000 }, b: {} }, [48, 0]],
  ['more for an image that more nodes have', ['app:1'], { a: { 'app:1': 1000 }, b: { 'app:1': 500 } }, [100, 48]],
  [
    'the sum of the containers',
    ['app:1', 'db:1'],
    { a: { 'app:1': 1000, 'db:1': 1000 }, b: { 'db:1': 1000 } },
    [74, 49],
  ],
  ['nothing for a small image', ['app:1'], { a: { 'app:1': 40 }, b: {} }, [0, 0]],
  ['nothing for other images', ['app:2'], { a: { 'app:1': 1000 }, b: {} }, [0, 0]],
] as const)('scores %s', (_, images, nodes, expected) => {
  const snapshot = snapshotOf(nodes);
  const points = imageLocality.score(withImages(podOf(...images), snapshot), snapshot.nodes);
  expect(pointsOf(points, snapshot.nodes.length)).toEqual(expected);
});

it('counts the nodes that have an image, also after they change', () => {
  const keeper = new SnapshotKeeper();
  const holders = () => Object.fromEntries(keeper.snapshot().imageHolders);
  snapshotOf({ a: { x: 1, y: 1 }, b: { x: 1 } }, keeper);
  expect(holders()).toEqual({ x: 2, y: 1 });
  snapshotOf({ a: { y: 1, z: 1 } }, keeper);
  expect(holders()).toEqual({ x: 1, y: 1, z: 1 });
  keeper.removeNode('a');
  expect(holders()).toEqual({ x: 1 });
});

it('assigns a pod to the node that has its image', () => {
  const [decision] = planAssignments(snapshotOf({ a: {}, b: { 'app:1': 900 } }), [podOf('app:1')], 1);
  expect(decision).toMatchObject({ kind: 'assign', nodeName: 'b' });
});
