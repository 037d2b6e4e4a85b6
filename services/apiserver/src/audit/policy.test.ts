import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AuditPolicyError, parseAuditPolicy } from './parse-policy.ts';
import { type AuditedRequest, concernsReads, decideLevel } from './policy.ts';

const policyOf = (rules: string) => parseAuditPolicy(`apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n${rules}`);
const user = (name: string, ...groups: string[]) => ({ name, uid: '', groups, extra: {} });
const request = (about: Partial<Extract<AuditedRequest, { kind: 'resource' }>>): AuditedRequest => ({
  kind: 'resource',
  verb: 'get',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'default',
  name: 'web',
  ...about,
});
const path = (text: string): AuditedRequest => ({ kind: 'path', verb: 'get', path: text });

describe('the level of a request', () => {
  it.each([
    ['- {level: Metadata}', request({}), 'Metadata'],
    ['- {level: None, users: [other]}\n- {level: Request}', request({}), 'Request'],
    ['- {level: None, users: [ann]}\n- {level: Request}', request({}), 'None'],
    ['- {level: Metadata, userGroups: [devs, ops]}', request({}), 'Metadata'],
    ['- {level: Metadata, userGroups: [ops]}', request({}), 'None'],
    ['- {level: Metadata, verbs: [create]}', request({}), 'None'],
    ['- {level: Metadata, namespaces: [default]}', request({}), 'Metadata'],
    ['- {level: Metadata, namespaces: [""]}', request({ namespace: '' }), 'Metadata'],
    ['- {level: Metadata, namespaces: [other]}', request({}), 'None'],
    ['- {level: Metadata, namespaces: [default]}', path('/version'), 'None'],
    ['- {level: Metadata, resources: [{group: ""}]}', request({}), 'Metadata'],
    ['- {level: Metadata, resources: [{group: apps}]}', request({}), 'None'],
    ['- {level: Metadata, resources: [{group: "", resources: [pods]}]}', request({ subresource: 'log' }), 'None'],
    [
      '- {level: Metadata, resources: [{group: "", resources: [pods/log]}]}',
      request({ subresource: 'log' }),
      'Metadata',
    ],
    [
      '- {level: Metadata, resources: [{group: "", resources: ["pods/*"]}]}',
      request({ subresource: 'log' }),
      'Metadata',
    ],
    [
      '- {level: Metadata, resources: [{group: "", resources: ["*/log"]}]}',
      request({ subresource: 'log' }),
      'Metadata',
    ],
    ['- {level: Metadata, resources: [{group: "", resources: ["*/log"]}]}', request({}), 'None'],
    ['- {level: Metadata, resources: [{group: "", resources: ["*"]}]}', request({ subresource: 'log' }), 'Metadata'],
    ['- {level: Metadata, resources: [{group: "", resources: [pods], resourceNames: [web]}]}', request({}), 'Metadata'],
    ['- {level: Metadata, resources: [{group: "", resources: [pods], resourceNames: [db]}]}', request({}), 'None'],
    ['- {level: Metadata, nonResourceURLs: ["/healthz*"]}', path('/healthz/etcd'), 'Metadata'],
    ['- {level: Metadata, nonResourceURLs: ["/healthz"]}', path('/healthz/etcd'), 'None'],
    ['- {level: Metadata, nonResourceURLs: ["*"]}', path('/version'), 'Metadata'],
    ['- {level: Metadata, nonResourceURLs: ["*"]}', request({}), 'None'],
  ] as const)('%s', (rules, about, level) => {
    expect(decideLevel(policyOf(rules), user('ann', 'devs'), about).level).toBe(level);
  });

  it('leaves out the stages of the policy and of the rule, and managed fields as the rule says, or else the policy', () => {
    const policy = parseAuditPolicy(
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nomitManagedFields: true\n' +
        'rules: [{level: Request, users: [ann], omitStages: [ResponseStarted], omitManagedFields: false}, {level: Request}]',
    );
    const ofAnn = decideLevel(policy, user('ann'), request({}));
    expect([...ofAnn.omitStages]).toEqual(['RequestReceived', 'ResponseStarted']);
    expect(ofAnn.omitManagedFields).toBe(false);
    expect(decideLevel(policy, user('bob'), request({})).omitManagedFields).toBe(true);
  });

  it('knows whether reads can be logged at all', () => {
    expect(concernsReads(policyOf('- {level: Metadata, verbs: [create]}'))).toBe(false);
    const rule = (resources: string) =>
      policyOf(`- {level: Metadata, resources: [{group: "", resources: ${resources}}]}`);
    expect(concernsReads(rule('[pods/exec, nodes/proxy]'))).toBe(false);
    expect(concernsReads(rule('[pods/exec, pods]'))).toBe(true);
    expect(concernsReads(policyOf('- {level: Metadata, resources: [{group: ""}]}'))).toBe(true);
    expect(concernsReads(policyOf('- {level: None}\n- {level: Metadata, verbs: [create, watch]}'))).toBe(true);
    expect(concernsReads(policyOf('- {level: None, verbs: [get]}\n- {level: Metadata}'))).toBe(true);
  });
});

describe('a policy that cannot be used is refused by its field', () => {
  it.each([
    ['kind: Policy\nrules: [{level: None}]', 'apiVersion: undefined is not "audit.k8s.io/v1"'],
    ['apiVersion: audit.k8s.io/v1\nkind: Event\nrules: [{level: None}]', 'kind: "Event" is not "Policy"'],
    ['apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []', 'rules: a policy needs at least one rule'],
    ['[', 'the file is not YAML: '],
    ['text', 'policy: must be an object'],
  ])('%s', (text, message) => {
    expect(() => parseAuditPolicy(text)).toThrow(AuditPolicyError);
    expect(() => parseAuditPolicy(text)).toThrow(message);
  });

  it.each([
    ['- {level: metadata}', 'rules[0].level: "metadata" is not one of None, Metadata, Request, RequestResponse'],
    ['- {level: None}\n- {verbs: [get]}', 'rules[1].level: undefined is not one of'],
    ['- {level: None, user: [ann]}', 'rules[0].user: unknown field'],
    ['- {level: None, users: ann}', 'rules[0].users: must be a list'],
    ['- {level: None, users: [1]}', 'rules[0].users[0]: must be text'],
    ['- {level: None, omitStages: [Never]}', 'rules[0].omitStages[0]: "Never" is not one of'],
    ['- {level: None, omitManagedFields: 1}', 'rules[0].omitManagedFields: must be true or false'],
    [
      '- {level: None, resources: [{group: apps/v1}]}',
      'rules[0].resources[0].group: "apps/v1" must not have a version',
    ],
    ['- {level: None, resources: [{resourceNames: [a]}]}', 'rules[0].resources[0].resourceNames: using resourceNames'],
    ['- {level: None, nonResourceURLs: [version]}', 'rules[0].nonResourceURLs[0]: "version" must begin with a \'/\''],
    ['- {level: None, nonResourceURLs: ["/a*/b"]}', "rules[0].nonResourceURLs[0]: the wildcard '*' must be the final"],
    [
      '- {level: None, nonResourceURLs: ["/a"], namespaces: [a]}',
      'rules[0].nonResourceURLs: rules cannot apply to both',
    ],
  ])('%s', (rules, message) => {
    expect(() => policyOf(rules)).toThrow(message);
  });
});

it('the policy that comes with the cluster logs writes without bodies, and no heartbeats', async () => {
  const policy = parseAuditPolicy(
    await readFile(join(import.meta.dirname, '../../../../deploy/audit/policy.yaml'), 'utf8'),
  );
  const level = (about: AuditedRequest, ...groups: string[]) => decideLevel(policy, user('x', ...groups), about).level;
  expect(level(request({ verb: 'create', resource: 'secrets' }))).toBe('Metadata');
  expect(level(request({ verb: 'deletecollection', group: 'apps', resource: 'deployments' }))).toBe('Metadata');
  expect(level(request({ verb: 'list', resource: 'secrets' }))).toBe('None');
  expect(level(request({ verb: 'get', subresource: 'exec' }))).toBe('Metadata');
  const lease = { verb: 'update', group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-node-lease' };
  expect(level(request(lease), 'system:nodes')).toBe('None');
  expect(level(request(lease), 'system:authenticated')).toBe('Metadata');
  expect(concernsReads(policy)).toBe(false);
});
