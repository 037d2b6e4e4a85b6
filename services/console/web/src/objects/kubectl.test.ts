import { describe, expect, it } from 'vitest';
import type { Kind } from '../api/kinds.ts';
import { kubectlGet, kubectlOf, kubectlOfNode, quote } from './kubectl.ts';

const PODS: Kind = {
  id: 'pods',
  group: '',
  version: 'v1',
  resource: 'pods',
  kind: 'Pod',
  singular: 'pod',
  shortNames: ['po'],
  categories: [],
  isNamespaced: true,
  verbs: [],
  subresources: [],
};
const NODES: Kind = { ...PODS, id: 'nodes', resource: 'nodes', kind: 'Node', isNamespaced: false };

describe('kubectl commands', () => {
  it('name the namespace only of kinds that have one', () => {
    expect(kubectlGet(PODS, { namespace: '' })).toBe('kubectl get pods -A --watch');
    expect(kubectlGet(PODS, { namespace: 'a', wide: true })).toBe('kubectl get pods -n a -o wide --watch');
    expect(kubectlGet(NODES, { namespace: 'a' })).toBe('kubectl get nodes --watch');
    expect(kubectlOf('describe', NODES, '', 'n1')).toBe('kubectl describe nodes n1');
  });

  it('quote what a shell would interpret', () => {
    expect(kubectlGet(PODS, { namespace: 'a', labels: 'app in (x, y)' })).toContain(`-l 'app in (x, y)'`);
    expect(quote(`it's; rm -rf /`)).toBe(`'it'\\''s; rm -rf /'`);
    expect(quote('a$b')).toBe(`'a$b'`);
    expect(quote('app=web,tier!=db')).toBe(`'app=web,tier!=db'`);
  });

  it('do not take a name for a flag', () => {
    expect(kubectlOf('delete', NODES, '', '--all')).toBe('kubectl delete nodes/--all');
    expect(kubectlOfNode('drain', 'n1', '--force')).toBe('kubectl drain n1 --force');
    expect(kubectlOfNode('cordon', '-l')).toBe('kubectl cordon node/-l');
  });

  it('escape what nobody sees and a terminal would act on', () => {
    expect(quote('a\u0003\u001b[A\nb')).toBe(String.raw`$'a\u0003\u001b[A\u000ab'`);
    expect(quote("x\u202e'\\y")).toBe(String.raw`$'x\u202e\'\\y'`);
  });
});
