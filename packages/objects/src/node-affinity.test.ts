import { describe, expect, it } from 'vitest';
import type { Node, NodeSelectorTerm, PodSpec } from './generated/types.ts';
import { matchesNodeAffinity, requiredNodeNames } from './node-affinity.ts';

const NODE: Node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', labels: { disk: 'ssd', cores: '8' } } };

function withTerms(...nodeSelectorTerms: NodeSelectorTerm[]): PodSpec {
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  return { containers: [], affinity: { nodeAffinity: required } };
}

const byName = (operator: string, ...values: string[]) => ({
  matchFields: [{ key: 'metadata.name', operator, values }],
});
const byLabel = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
});

describe('matchesNodeAffinity', () => {
  it.each<[string, PodSpec | undefined, boolean]>([
    ['no spec', undefined, true],
    ['a node selector', { containers: [], nodeSelector: { disk: 'ssd' } }, true],
    ['a node selector of another value', { containers: [], nodeSelector: { disk: 'ssd', cores: '4' } }, false],
    ['no terms', withTerms(), false],
    ['an empty term', withTerms({}), false],
    ['an empty term and one that matches', withTerms({}, byLabel('disk', 'Exists')), true],
    ['In', withTerms(byLabel('disk', 'In', 'hdd', 'ssd')), true],
    ['In, of a label that is missing', withTerms(byLabel('zone', 'In', '')), false],
    ['NotIn', withTerms(byLabel('disk', 'NotIn', 'ssd')), false],
    ['NotIn, of a label that is missing', withTerms(byLabel('zone', 'NotIn', 'a')), true],
    ['DoesNotExist', withTerms(byLabel('disk', 'DoesNotExist')), false],
    ['Gt', withTerms(byLabel('cores', 'Gt', '7')), true],
    ['Lt of the same number', withTerms(byLabel('cores', 'Lt', '8')), false],
    ['Gt of text', withTerms(byLabel('disk', 'Gt', '1')), false],
    ['an unknown operator', withTerms(byLabel('disk', 'Like', 'ssd')), false],
    ['the name', withTerms(byName('In', 'n')), true],
    ['another name', withTerms(byName('In', 'm')), false],
    ['any name but one', withTerms(byName('NotIn', 'm')), true],
    ['two names, which Kubernetes does not parse', withTerms(byName('In', 'n', 'm')), false],
    ['the name, with an operator for labels', withTerms(byName('Exists')), false],
    ['another field', withTerms({ matchFields: [{ key: 'spec.podCIDR', operator: 'In', values: ['n'] }] }), false],
    [
      'the name and a label of another value',
      withTerms({ ...byName('In', 'n'), ...byLabel('disk', 'In', 'x') }),
      false,
    ],
    ['terms of which one matches', withTerms(byName('In', 'm'), byName('In', 'n')), true],
  ])('with %s', (_, spec, expected) => {
    expect(matchesNodeAffinity(spec, NODE)).toBe(expected);
  });

  it('needs both the node selector and the affinity', () => {
    expect(matchesNodeAffinity({ ...withTerms(byName('In', 'n')), nodeSelector: { disk: 'hdd' } }, NODE)).toBe(false);
  });
});

describe('requiredNodeNames', () => {
  it.each<[string, PodSpec | undefined, readonly string[] | undefined]>([
    ['no affinity', undefined, undefined],
    ['no terms', withTerms(), undefined],
    ['terms by name', withTerms(byName('In', 'a'), byName('In', 'b')), ['a', 'b']],
    ['a term without a name', withTerms(byName('In', 'a'), byLabel('disk', 'Exists')), undefined],
    ['a term that excludes a name', withTerms(byName('NotIn', 'a')), undefined],
    [
      'a term that wants two names',
      withTerms({ matchFields: ['a', 'b'].flatMap((v) => byName('In', v).matchFields) }),
      [],
    ],
  ])('with %s', (_, spec, expected) => {
    const names = requiredNodeNames(spec);
    expect(names === undefined ? undefined : [...names]).toEqual(expected);
  });
});
