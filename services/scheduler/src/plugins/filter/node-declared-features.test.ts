import { expect, it } from 'vitest';
import { createPodInfo } from '../../framework/pod-info.ts';
import { exampleNode, examplePod, exampleSnapshot } from '../../testing/examples.ts';
import { nodeDeclaredFeatures } from './node-declared-features.ts';

const RESTART_OF_ALL = 'RestartAllContainersOnContainerExits';

it.each([
  ['Restart', 'containers', [], true],
  ['RestartAllContainers', 'containers', ['Other'], false],
  ['RestartAllContainers', 'initContainers', [], false],
  ['RestartAllContainers', 'containers', ['Other', RESTART_OF_ALL], true],
] as const)('a pod with the rule %s in %s goes to a node that declares %s: %s', (action, list, declared, fits) => {
  const asks = { name: 'asks', restartPolicyRules: [{ action, exitCodes: { operator: 'In', values: [42] } }] };
  const pod = examplePod('p', { spec: { containers: [{ name: 'main' }], [list]: [asks] } });
  const plain = exampleNode('a');
  const node = { ...plain, status: { ...plain.status, declaredFeatures: [...declared] } };
  const [info] = exampleSnapshot([node], []).nodes;
  if (info === undefined) throw new Error('no node');
  const reasons = fits ? [] : ["node(s) didn't match Pod's required features"];
  expect(nodeDeclaredFeatures.filter(createPodInfo(pod), info)).toEqual(reasons);
});
