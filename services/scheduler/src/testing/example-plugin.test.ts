import { expect, it } from 'vitest';
import { planAssignments } from '../plan.ts';
import { createPodInfo } from '../framework/pod-info.ts';
import { FILTERS, SCORES } from '../plugins/registry.ts';
import { reservedNodes } from './example-plugin.ts';
import { exampleNode, examplePod, exampleSnapshot } from './examples.ts';

const plugins = { filters: [...FILTERS, reservedNodes], scores: SCORES };

function decide(reservedFor: string) {
  const node = exampleNode('a', { labels: { 'example.dev/reserved-for': reservedFor } });
  return planAssignments(exampleSnapshot([node]), [createPodInfo(examplePod('p'))], 1, plugins)[0];
}

it('assigns a pod to a node that is reserved for its namespace', () => {
  expect(decide('default')).toMatchObject({ kind: 'assign', nodeName: 'a' });
});

it('refuses a node that is reserved for another namespace', () => {
  const message = expect.stringContaining('1 node(s) were reserved for another namespace.');
  expect(decide('other')).toMatchObject({ kind: 'refuse', message, plugins: new Set(['ReservedNodes']) });
});
