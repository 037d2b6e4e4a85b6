import { ApiextensionsV1Api, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { anything, CustomResources, definition, establish, version } from './crd-fixtures.ts';
import { expectDiscovered } from './discovery-documents.ts';
import {
  CONFIG_MAPS,
  dataOf,
  DISALLOWED,
  EFFECTIVE_MS,
  Hooks,
  PODS,
  STAGED,
  STAGED_ONCE,
  STARTED,
  UNWANTED,
  WEBHOOK,
} from './hooks.ts';
import { KINDS } from './kinds.ts';
import { expectNotFound, refusal } from './outcome.ts';
import { Resource } from './resource.ts';
import { container, pod } from './workloads.ts';
import { type Proof, proof, type World } from './world.ts';

const STRATEGIC = setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch);

export const WEBHOOK_PROOFS: readonly Proof[] = [
  proof(`${WEBHOOK} should include webhook resources in discovery documents [Conformance]`, async ({ cluster }) => {
    await expectDiscovered(cluster, KINDS.MutatingWebhookConfiguration);
    await expectDiscovered(cluster, KINDS.ValidatingWebhookConfiguration);
  }),

  proof(`${WEBHOOK} should be able to deny pod and configmap creation [Conformance]`, async (world) => {
    const hooks = await Hooks.open(world);
    const { namespace } = hooks;
    const exempt = { key: 'skip-webhook', operator: 'NotIn', values: ['yes'] };
    const namespaceSelector = { matchLabels: { [namespace]: 'true' }, matchExpressions: [exempt] };
    const unreachable = { url: 'https://127.0.0.1:1/nobody', caBundle: hooks.server.caBundle };
    await hooks.validate([
      hooks.hook('/configmaps', CONFIG_MAPS, { namespaceSelector }),
      hooks.hook('/pods', PODS, { namespaceSelector, timeoutSeconds: 2 }),
      // One without a server, which may be ignored.
      hooks.hook('/open', CONFIG_MAPS, { clientConfig: unreachable, failurePolicy: 'Ignore', timeoutSeconds: 1 }),
    ]);
    expect(await hooks.untilRefused(DISALLOWED)).toContain(UNWANTED);
    const bad = pod(
      'bad',
      { containers: [container({ name: 'webhook-disallow' })] },
      { 'webhook-e2e-test': 'disallow' },
    );
    await eventually('the bad pod is refused', EFFECTIVE_MS, async () => {
      const body = { ...bad, metadata: { ...bad.metadata, name: world.unique('bad') } };
      const denied = await refusal(world.core.createNamespacedPod({ namespace, body }));
      for (const part of ['the pod contains unwanted container name', 'the pod contains unwanted label'])
        expect(denied.message).toContain(part);
      return true;
    });
    const hanging = pod('hanging', {}, { hang: 'true' });
    const hung = await refusal(world.core.createNamespacedPod({ namespace, body: hanging }));
    for (const part of ['webhook', 'deadline']) expect(hung.message).toContain(part);
    await expectNotFound(world.core.readNamespacedPod({ namespace, name: 'hanging' }));

    const good = await hooks.createMap('good', { admit: 'this' });
    const put = { namespace, name: 'good', body: { ...good, data: { ...good.data, ...DISALLOWED } } };
    expect((await refusal(world.core.replaceNamespacedConfigMap(put))).message).toContain(UNWANTED);
    const patch = { namespace, name: 'good', body: { data: DISALLOWED } };
    expect((await refusal(world.core.patchNamespacedConfigMap(patch, STRATEGIC))).message).toContain(UNWANTED);
    const other = await world.namespace({ [namespace]: 'true', 'skip-webhook': 'yes' });
    await hooks.createMap('exempt', DISALLOWED, other);
  }),

  proof(`${WEBHOOK} should unconditionally reject operations on fail closed webhook [Conformance]`, async (world) => {
    const hooks = await Hooks.open(world);
    const clientConfig = { url: 'https://127.0.0.1:1/nobody', caBundle: hooks.server.caBundle };
    await hooks.validate([hooks.hook('/closed', CONFIG_MAPS, { clientConfig })]);
    await eventually('the webhook is in force', EFFECTIVE_MS, async () => {
      expect(await refusal(hooks.passingMap({}))).toMatchObject({ code: 500, reason: 'InternalError' });
      return true;
    });
  }),

  proof(`${WEBHOOK} should mutate configmap [Conformance]`, async (world) => {
    const hooks = await Hooks.open(world);
    await hooks.mutate([hooks.hook('/stage-1', CONFIG_MAPS), hooks.hook('/stage-2', CONFIG_MAPS)]);
    await hooks.untilData(STARTED, STAGED);
  }),

  proof(`${WEBHOOK} should mutate pod and apply defaults after mutation [Conformance]`, async (world) => {
    const hooks = await Hooks.open(world);
    const { namespace } = hooks;
    await hooks.mutate([hooks.hook('/init-container', PODS)]);
    await eventually('the webhook adds an init container', EFFECTIVE_MS, async () => {
      const body = { ...pod('', {}), metadata: { generateName: 'to-be-mutated-' } };
      const made = await world.core.createNamespacedPod({ namespace, body });
      expect(made.spec?.initContainers).toMatchObject([
        { name: 'webhook-added-init-container', terminationMessagePolicy: 'File' },
      ]);
      return true;
    });
  }),

  proof(`${WEBHOOK} should be able to deny attaching pod [Conformance]`, async (world) => {
    const hooks = await Hooks.open(world);
    const { namespace } = hooks;
    const body = pod('to-be-attached', { containers: [container({ stdin: true })] });
    await world.core.createNamespacedPod({ namespace, body });
    const rules = [{ ...PODS, resources: ['pods/attach'], operations: ['CONNECT'] }];
    await hooks.validate([hooks.hook('/attach', PODS, { rules })]);
    const [version] = world.cluster.kubectls.slice(-1);
    if (version === undefined) throw new Error('no kubectl');
    await eventually('attaching is denied', EFFECTIVE_MS, async () => {
      const { code, stderr } = await world.kubectl(version, [
        '-n',
        namespace,
        'attach',
        'to-be-attached',
        '-i',
        '-c=main',
      ]);
      expect(code).not.toBe(0);
      return stderr.includes("attaching to pod 'to-be-attached' is not allowed");
    });
  }),

  proof(`${WEBHOOK} should deny crd creation [Conformance]`, async (world) => {
    const hooks = await Hooks.open(world);
    const rules = [
      {
        apiGroups: ['apiextensions.k8s.io'],
        apiVersions: ['*'],
        resources: ['customresourcedefinitions'],
        operations: ['CREATE'],
      },
    ];
    const own = { objectSelector: { matchLabels: { [hooks.namespace]: 'true' } }, namespaceSelector: {} };
    await hooks.validate([hooks.hook('/crds', CONFIG_MAPS, { rules, ...own })]);
    const api = world.api(ApiextensionsV1Api);
    await eventually('the definition is denied', EFFECTIVE_MS, async () => {
      const labels = { [hooks.namespace]: 'true', ...DISALLOWED };
      const body = definition(world, { labels });
      world.atEnd(() => api.deleteCustomResourceDefinition({ name: body.metadata?.name ?? '' }));
      return (await refusal(api.createCustomResourceDefinition({ body }))).message?.includes('unwanted label');
    });
  }),

  proof(`${WEBHOOK} should honor timeout [Conformance]`, async (world) => {
    const hooks = await Hooks.open(world);
    const slow = (timeoutSeconds: number, failurePolicy: string) =>
      hooks.hook('/silent', CONFIG_MAPS, { timeoutSeconds, failurePolicy });
    const strict = await hooks.validate([slow(1, 'Fail')]);
    expect(await hooks.untilRefused({})).toMatch(/\/silent\?timeout=1s.*(deadline exceeded|timeout)/s);
    await hooks.api.deleteValidatingWebhookConfiguration({ name: strict });
    await hooks.validate([slow(1, 'Ignore')]);
    await eventually('who times out is ignored', EFFECTIVE_MS, () => hooks.passingMap({}));
  }),

  proof(
    `${WEBHOOK} should be able to deny custom resource creation, update and deletion [Conformance]`,
    async (world) => {
      const hooks = await Hooks.open(world);
      const made = await establish(world, definition(world, { scope: 'Namespaced' }));
      const objects = new CustomResources(world, made, hooks.namespace);
      await objects.create(objects.object('before'));
      const rule = { apiGroups: [made.spec.group], apiVersions: ['v1'], resources: [made.spec.names.plural] };
      const rules = [{ ...rule, operations: ['CREATE', 'UPDATE', 'DELETE'] }];
      const name = await hooks.validate([hooks.hook('/deny', rule, { rules })]);
      await eventually('creation is denied', EFFECTIVE_MS, async () => {
        const body = { ...objects.object(world.unique('cr')) };
        return (await refusal(objects.create(body))).message?.includes('CREATE is denied');
      });
      const before = await objects.get('before');
      const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
      const update = objects.patch('before', { data: { a: 'b' } }, merge);
      expect((await refusal(update)).message).toContain('UPDATE is denied');
      expect((await refusal(objects.delete('before'))).message).toContain('DELETE is denied');
      expect(await objects.get('before')).toEqual(before);
      await hooks.api.deleteValidatingWebhookConfiguration({ name });
      await eventually('deletion passes', EFFECTIVE_MS, () => objects.delete('before'));
    },
  ),

  proof(`${WEBHOOK} should mutate custom resource [Conformance]`, async (world) => expectMutated(world, 'preserving')),
  proof(`${WEBHOOK} should mutate custom resource with pruning [Conformance]`, async (world) =>
    expectMutated(world, 'pruning'),
  ),

  proof(`${WEBHOOK} should mutate custom resource with different stored version [Conformance]`, async (world) => {
    const hooks = await Hooks.open(world);
    const versions = (stored: string) =>
      ['v1', 'v2'].map((name) => version(name, anything(), { storage: name === stored }));
    const made = await establish(world, definition(world, { scope: 'Namespaced', versions: versions('v1') }));
    const [first, second] = ['v1', 'v2'].map((name) => new CustomResources(world, made, hooks.namespace, name));
    if (first === undefined || second === undefined) throw new Error('two versions');
    const rule = { apiGroups: [made.spec.group], apiVersions: ['*'], resources: [made.spec.names.plural] };
    await hooks.mutate([hooks.hook('/stage-1', rule), hooks.hook('/stage-2', rule)]);
    await eventually('they are mutated', EFFECTIVE_MS, async () => {
      const probe = await first.create(first.object(world.unique('probe'), { data: STARTED }));
      return JSON.stringify(dataOf(probe)) !== JSON.stringify(STARTED);
    });
    await first.create(first.object('cr', { data: STARTED }));
    const definitions = new Resource<typeof made>(world.cluster, KINDS.CustomResourceDefinition);
    const stored = [0, 1].map((index) => ({
      op: 'replace',
      path: `/spec/versions/${index}/storage`,
      value: index === 1,
    }));
    await definitions.patch(made.metadata?.name ?? '', 'json', stored);
    const change = [{ op: 'add', path: '/dummy', value: 'test' }];
    expect(await second.patch('cr', change)).toMatchObject({ data: STAGED, dummy: 'test' });
  }),
];

async function expectMutated(world: World, unknown: 'preserving' | 'pruning'): Promise<void> {
  const hooks = await Hooks.open(world);
  const known = { 'mutation-start': { type: 'string' }, 'mutation-stage-1': { type: 'string' } };
  const schema =
    unknown === 'preserving'
      ? anything()
      : { type: 'object', properties: { data: { type: 'object', properties: known } } };
  const made = await establish(world, definition(world, { scope: 'Namespaced', versions: [version('v1', schema)] }));
  const objects = new CustomResources(world, made, hooks.namespace);
  const rule = { apiGroups: [made.spec.group], apiVersions: ['v1'], resources: [made.spec.names.plural] };
  await hooks.mutate([hooks.hook('/stage-1', rule), hooks.hook('/stage-2', rule)]);
  await eventually('the object is mutated', EFFECTIVE_MS, async () => {
    const body = objects.object(world.unique('cr'), { data: STARTED });
    expect((await objects.create(body))['data']).toEqual(unknown === 'preserving' ? STAGED : STAGED_ONCE);
    return true;
  });
}
