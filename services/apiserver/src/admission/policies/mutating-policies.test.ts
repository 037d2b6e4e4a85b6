import type { KubeObject } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { patchBody, startHarness, type Harness, WRITE } from '../../registry/testing.ts';

const API = 'admissionregistration.k8s.io/v1';
const rule = (apiGroups: string[], resources: string[]) => ({
  operations: ['CREATE', 'UPDATE'],
  apiGroups,
  apiVersions: ['v1'],
  resources,
});
const apply = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });
const patch = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } });

describe('mutating admission policies', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness();
  });

  async function policy(name: string, spec: object, binding: object = {}): Promise<void> {
    await h.create('mutatingadmissionpolicies', {
      apiVersion: API,
      kind: 'MutatingAdmissionPolicy',
      metadata: { name },
      spec: {
        matchConstraints: { resourceRules: [rule([''], ['configmaps'])] },
        reinvocationPolicy: 'Never',
        ...spec,
      },
    });
    await h.create('mutatingadmissionpolicybindings', {
      apiVersion: API,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name: `${name}-binding` },
      spec: { policyName: name, ...binding },
    });
  }
  const configMap = (name: string, data: object = {}, metadata: object = {}) =>
    h.create('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data });
  const dataOf = (object: KubeObject) => (object as { data?: Record<string, string> }).data;

  it('merge a configuration, map by map and list item by list item', async () => {
    await policy('p', {
      matchConstraints: { resourceRules: [rule([''], ['pods'])] },
      mutations: [
        apply(
          "Object{metadata: Object.metadata{labels: {'a': 'b'}}, spec: Object.spec{initContainers: [Object.spec.initContainers{name: 'mesh', image: 'mesh:1', restartPolicy: 'Always'}]}}",
        ),
      ],
    });
    await h.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
    const pod = await h.create('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', labels: { x: 'y' } },
      spec: { containers: [{ name: 'c', image: 'i' }], initContainers: [{ name: 'i', image: 'i' }] },
    });
    expect(pod.metadata.labels).toEqual({ a: 'b', x: 'y' });
    const { initContainers } = (pod as { spec?: { initContainers?: object[] } }).spec ?? {};
    expect(initContainers).toMatchObject([
      { name: 'i' },
      { name: 'mesh', image: 'mesh:1', restartPolicy: 'Always', terminationMessagePolicy: 'File' },
    ]);
  });

  it('patch by operations that expressions make, unless a test among them fails', async () => {
    await policy('p', {
      variables: [{ name: 'key', expression: "'example.com/k'" }],
      mutations: [
        patch(
          "[JSONPatch{op: 'test', path: '/data/a', value: 'no'}, JSONPatch{op: 'add', path: '/data/b', value: 'x'}]",
        ),
        patch(
          "[JSONPatch{op: 'add', path: '/metadata/labels', value: {}}, JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey(variables.key), value: string(size(object.data))}]",
        ),
      ],
    });
    const made = await configMap('c', { a: '1' });
    expect(dataOf(made)).toEqual({ a: '1' });
    expect(made.metadata.labels).toEqual({ 'example.com/k': '1' });
  });

  it('see what those before them have made, take parameters, and pass over what their conditions leave out', async () => {
    const spec = {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConditions: [
        { name: 'm', expression: "!has(object.metadata.labels) || !('skip' in object.metadata.labels)" },
      ],
    };
    const append = (text: string) =>
      patch(
        `[JSONPatch{op: 'add', path: '/data', value: {'t': (has(object.data) && 't' in object.data ? object.data.t : '') + ${text}}}]`,
      );
    await configMap('param', { v: 'P' }, { labels: { skip: '' } });
    await policy(
      'a',
      { ...spec, mutations: [append("'1'"), append('params.data.v')] },
      { paramRef: { name: 'param', parameterNotFoundAction: 'Deny' } },
    );
    await policy('b', { mutations: [append("'2'")] });
    expect(dataOf(await configMap('c'))).toEqual({ t: '1P2' });
    expect(dataOf(await configMap('d', {}, { labels: { skip: '' } }))).toEqual({ t: '2' });
  });

  it('are asked again once when others change the object after them, where they want to', async () => {
    const count = patch(
      "[JSONPatch{op: 'add', path: '/data', value: {'n': string(int('n' in object.data ? object.data.n : '0') + 1)}}]",
    );
    await policy('a', { reinvocationPolicy: 'IfNeeded', mutations: [count] });
    await policy('b', { mutations: [count] });
    expect(dataOf(await configMap('c', { x: '' }))).toEqual({ n: '3' });
  });

  it.each([
    [
      "Object{data: {'a': 1}}",
      'error applying patch: failed to convert patch object to typed object: .data.a: expected string, got &value.valueUnstructured{Value:1}',
    ],
    [
      'Object{spec: Object.spec{}}',
      'error applying patch: failed to convert patch object to typed object: .spec: field not declared in schema',
    ],
    [
      "Object{metadata: Object.meta{name: 'x'}}",
      'type mismatch: unexpected type name "Object.meta", expected "Object.metadata", which matches field name path from root Object type',
    ],
    [
      'Object{data: object.missing}',
      "expression 'Object{data: object.missing}' resulted in error: no such key: missing",
    ],
  ])('refuse what they cannot do: %s', async (expression, why) => {
    await policy('p', { failurePolicy: 'Fail', mutations: [apply(expression)] });
    const message = `policy 'p' with binding 'p-binding' denied request: ${why}`;
    await expect(configMap('c', { a: '' })).rejects.toMatchObject({
      reason: 'Invalid',
      code: 403,
      message,
      details: { causes: [{ message }] },
    });
  });

  it('keep every digit of whole numbers', async () => {
    const most = 9223372036854775807n;
    await policy('p', {
      reinvocationPolicy: 'IfNeeded',
      matchConstraints: { resourceRules: [rule(['apps'], ['replicasets'])] },
      mutations: [
        apply("Object{metadata: Object.metadata{labels: {'a': 'b'}}}"),
        patch(
          "[JSONPatch{op: 'replace', path: '/spec/template/spec/activeDeadlineSeconds', value: object.spec.template.spec.activeDeadlineSeconds}]",
        ),
      ],
    });
    const template = {
      metadata: { labels: { x: 'y' } },
      spec: { containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 0 },
    };
    const body = JSON.stringify({
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: 'r' },
      spec: { selector: { matchLabels: { x: 'y' } }, template },
    }).replace('"terminationGracePeriodSeconds":0', `"activeDeadlineSeconds":${most}`);
    const bytes = new TextEncoder().encode(body);
    const sent = { mediaType: 'application/json', read: () => Promise.resolve(bytes) } as const;
    const work = h.registry.create(h.context(), h.target('replicasets', ''), sent, WRITE);
    await expect(h.settle(work)).rejects.toThrow(`${most}`);
  });

  it('see no name that is still to be generated, which what judges later does', async () => {
    await policy('p', {
      mutations: [patch("[JSONPatch{op: 'add', path: '/data', value: {'named': string(has(object.metadata.name))}}]")],
    });
    await h.create('validatingadmissionpolicies', {
      apiVersion: API,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'v' },
      spec: {
        matchConstraints: { resourceRules: [rule([''], ['configmaps'])] },
        validations: [{ expression: "request.name != '' && request.name == object.metadata.name" }],
      },
    });
    const spec = { policyName: 'v', validationActions: ['Deny'] };
    const binding = { apiVersion: API, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name: 'v' }, spec };
    await h.create('validatingadmissionpolicybindings', binding);
    const made = await h.create('configmaps', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { generateName: 'g-' },
    });
    expect(made.metadata.name).toMatch(/^g-.{5}$/);
    expect(dataOf(made)).toEqual({ named: 'false' });
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { generateName: 'web-' },
      spec: { containers: [{ name: 'c', image: 'i' }], serviceAccountName: 'x' },
    };
    await expect(h.create('pods', pod)).rejects.toThrow(
      'pods "web-" is forbidden: error looking up service account n/x',
    );
  });

  it.each([
    ["[JSONPatch{op: 'add', path: '/metadata/uid', value: 'x'}]", undefined],
    ["[JSONPatch{op: 'add', path: '/metadata/creationTimestamp', value: '2001-01-01T00:00:00Z'}]", undefined],
    ["[JSONPatch{op: 'add', path: '/metadata/deletionTimestamp', value: '2001-01-01T00:00:00Z'}]", undefined],
    [
      "[JSONPatch{op: 'replace', path: '/metadata/namespace', value: 'default'}]",
      'the namespace of the provided object does not match the namespace sent on the request',
    ],
    ["[JSONPatch{op: 'remove', path: '/metadata'}]", 'metadata.name: Required value: name or generateName is required'],
    ["[JSONPatch{op: 'add', path: '/metadata/managedFields', value: [{'manager': 'x'}]}]", undefined],
    ["[JSONPatch{op: 'remove', path: '/kind'}]", undefined],
    ["[JSONPatch{op: 'replace', path: '/kind', value: 'Pod'}]", 'failed to convert object: v1, Kind=Pod'],
  ])('leave the server what is its own: %s', async (expression, refused) => {
    await policy('p', { mutations: [patch(expression)] });
    const created = configMap('c', { a: '1' });
    if (refused !== undefined) {
      await expect(created).rejects.toThrow(refused);
      return;
    }
    const { kind, metadata } = await created;
    expect(kind).toBe('ConfigMap');
    expect(metadata).toMatchObject({ name: 'c', namespace: 'n', creationTimestamp: '2026-01-01T00:00:00Z' });
    expect(metadata.uid).toMatch(/^0000/);
    expect(metadata.deletionTimestamp).toBeUndefined();
    expect(metadata.managedFields?.map(({ manager }) => manager)).toEqual(['test']);
  });

  it.each([
    [
      "[JSONPatch{op: 'replace', path: '/metadata/uid', value: 'x'}]",
      'metadata.uid: Invalid value: "x": field is immutable',
    ],
    [
      "[JSONPatch{op: 'replace', path: '/metadata/name', value: 'x'}]",
      'metadata.name: Invalid value: "x": field is immutable',
    ],
    [
      "[JSONPatch{op: 'replace', path: '/metadata/namespace', value: 'default'}]",
      'the namespace of the provided object does not match the namespace sent on the request',
    ],
  ])('leave an object the one that it is: %s', async (expression, refused) => {
    await configMap('c', { a: '1' });
    await policy('p', { mutations: [patch(expression)] });
    const bytes = new TextEncoder().encode(JSON.stringify({ data: { b: '2' } }));
    const work = h.registry.patch(
      h.context(),
      h.target('configmaps', 'c'),
      patchBody('application/merge-patch+json', bytes),
      WRITE,
    );
    await expect(h.settle(work)).rejects.toThrow(refused);
  });

  it('leave alone what they cannot change where failures are ignored', async () => {
    await policy('p', { failurePolicy: 'Ignore', mutations: [patch("[JSONPatch{op: 'remove', path: '/data/none'}]")] });
    expect(dataOf(await configMap('c', { a: '' }))).toEqual({ a: '' });
  });

  it('may not replace what can only be replaced as a whole', async () => {
    await policy('p', {
      matchConstraints: { resourceRules: [rule([''], ['services'])] },
      mutations: [apply("Object{spec: Object.spec{selector: {'a': 'b'}}}")],
    });
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec: { ports: [{ port: 1 }] } };
    await expect(h.create('services', service)).rejects.toThrow(
      'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.selector',
    );
  });
});
