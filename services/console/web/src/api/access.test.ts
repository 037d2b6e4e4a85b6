import { describe, expect, it } from 'vitest';
import { allows, allowsPath, type ResourceRule } from './access.ts';

const of = (...rules: ResourceRule[]) => ({ rules, isIncomplete: false });
const READ_PODS: ResourceRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] };

describe('allows', () => {
  it('allows what a rule names, and nothing else', () => {
    const rules = of(READ_PODS);
    expect(allows(rules, { verb: 'list', group: '', resource: 'pods' })).toBe(true);
    expect(allows(rules, { verb: 'delete', group: '', resource: 'pods' })).toBe(false);
    expect(allows(rules, { verb: 'list', group: 'metrics.k8s.io', resource: 'pods' })).toBe(false);
    expect(allows(rules, { verb: 'get', group: '', resource: 'pods', subresource: 'log' })).toBe(false);
  });

  it('combines no two rules', () => {
    const rules = of(READ_PODS, { verbs: ['delete'], apiGroups: [''], resources: ['services'] });
    expect(allows(rules, { verb: 'delete', group: '', resource: 'pods' })).toBe(false);
  });

  it('restricts a rule with names to these', () => {
    const rules = of({ ...READ_PODS, verbs: ['delete'], resourceNames: ['a'] });
    expect(allows(rules, { verb: 'delete', group: '', resource: 'pods', name: 'a' })).toBe(true);
    expect(allows(rules, { verb: 'delete', group: '', resource: 'pods', name: 'b' })).toBe(false);
    expect(allows(rules, { verb: 'delete', group: '', resource: 'pods' })).toBe(false);
  });

  it('understands the wildcards of groups, resources, subresources and verbs', () => {
    const all = of({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] });
    expect(allows(all, { verb: 'patch', group: 'apps', resource: 'deployments', subresource: 'scale' })).toBe(true);
    const scale = of({ verbs: ['update'], apiGroups: ['apps'], resources: ['*/scale'] });
    expect(allows(scale, { verb: 'update', group: 'apps', resource: 'deployments', subresource: 'scale' })).toBe(true);
    expect(allows(scale, { verb: 'update', group: 'apps', resource: 'deployments' })).toBe(false);
  });

  it('offers everything when the rules are incomplete', () => {
    expect(allows({ rules: [], isIncomplete: true }, { verb: 'delete', group: '', resource: 'nodes' })).toBe(true);
  });
});

describe('allowsPath', () => {
  const of = (...nonResourceURLs: string[]) => ({
    ...{ rules: [], isIncomplete: false },
    paths: [{ verbs: ['get'], nonResourceURLs }],
  });

  it('allows named paths, and those below a path with a wildcard', () => {
    expect(allowsPath(of('/gantry/v1/*'), '/gantry/v1/leaders')).toBe(true);
    expect(allowsPath(of('/gantry/v1/etcd'), '/gantry/v1/etcd')).toBe(true);
    expect(allowsPath(of('/gantry/v1/etcd'), '/gantry/v1/leaders')).toBe(false);
    expect(allowsPath(of('*'), '/gantry/v1/leaders')).toBe(true);
    expect(allowsPath({ rules: [], isIncomplete: false }, '/gantry/v1/leaders')).toBe(false);
  });

  it('needs the verb get', () => {
    const rules = { rules: [], isIncomplete: false, paths: [{ verbs: ['post'], nonResourceURLs: ['*'] }] };
    expect(allowsPath(rules, '/x')).toBe(false);
  });
});
