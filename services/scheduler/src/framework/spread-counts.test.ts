import { expect, it } from 'vitest';
import { exampleNode, examplePod, exampleSnapshot } from '../testing/examples.ts';
import { spreadBy } from '../testing/spread-examples.ts';
import { createPodInfo } from './pod-info.ts';
import { withPod } from './node-info.ts';
import { SpreadCounts } from './spread-counts.ts';

const NODES = ['a', 'b', 'c'].map((zone) => exampleNode(zone, { labels: { zone } }));
const web = (name: string, node: string) => examplePod(name, { node, labels: { app: 'web' } });
const waiting = createPodInfo(
  examplePod('p', { labels: { app: 'web' }, spec: { topologySpreadConstraints: [spreadBy('zone')] } }),
);

const NO_SERVICES = new Map();

function count(...pods: ReturnType<typeof web>[]) {
  const { nodes } = exampleSnapshot(NODES, pods);
  const counts = new SpreadCounts();
  const [required] = counts.withSpreading(waiting, nodes, NO_SERVICES).spreading?.required ?? [];
  return { nodes, counts, sum: required?.count };
}

it('knows the fewest pods beside a domain, also after more are assigned', () => {
  const { nodes, counts, sum } = count(web('1', 'a'), web('2', 'a'), web('3', 'b'));
  expect(['a', 'b', 'c', 'none'].map((zone) => sum?.leastBeside(zone))).toEqual([0, 0, 1, 0]);
  const [, , c] = nodes;
  for (const name of ['4', '5', '6']) if (c !== undefined) counts.countPod(createPodInfo(web(name, 'c')), c, 1);
  expect(['a', 'b', 'c', 'none'].map((zone) => sum?.leastBeside(zone))).toEqual([1, 2, 1, 1]);
});

it('has no fewest beside the only domain', () => {
  const { nodes } = exampleSnapshot(NODES.slice(0, 1));
  const [required] = new SpreadCounts().withSpreading(waiting, nodes, NO_SERVICES).spreading?.required ?? [];
  expect(required?.count.leastBeside('a')).toBe(Number.POSITIVE_INFINITY);
});

it('a look at a node in thought adds to what was compared', () => {
  const { nodes, counts, sum } = count(web('1', 'a'));
  const { spreading } = counts.withSpreading(waiting, nodes, NO_SERVICES);
  const [a] = nodes;
  if (a === undefined || sum === undefined) throw new Error('there is no node or no sum');
  const before = counts.compared;
  expect(spreading?.moreOn(a).size).toBe(0);
  expect(counts.compared).toBe(before);
  const more = withPod(withPod(a, createPodInfo(web('2', 'a'))), createPodInfo(examplePod('3', { node: 'a' })));
  expect(spreading?.moreOn(more).get(sum)).toBe(1);
  expect(counts.compared).toBe(before + 2);
});
