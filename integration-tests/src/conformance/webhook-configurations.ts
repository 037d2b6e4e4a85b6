import {
  PatchStrategy,
  setHeaderOptions,
  type V1MatchCondition,
  type V1RuleWithOperations,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { expectInvalid, retryOnConflict } from './outcome.ts';
import { CONFIG_MAPS, DISALLOWED, EFFECTIVE_MS, Hooks, STAGED_ONCE, STARTED, WEBHOOK, WRITES } from './hooks.ts';
import { type Proof, proof, type World } from './world.ts';

const JSON_PATCH = setHeaderOptions('Content-Type', PatchStrategy.JsonPatch);

/** Leases of the control plane are beyond a webhook's reach, as a user would write it. */
const NO_LEASES: V1MatchCondition = {
  name: 'exclude-leases',
  expression: '!(request.resource.group == "coordination.k8s.io" && request.resource.resource == "leases")',
};
const NO_NODES: V1MatchCondition = {
  name: 'exclude-kubelet',
  expression: '!("system:nodes" in request.userInfo.groups)',
};
const WRONG: V1MatchCondition = { name: 'invalid-expression-1', expression: '... [] bad expression' };
const WRONG_TYPE: V1MatchCondition = { name: 'invalid-expression-2', expression: '1 + 1' };

/** One kind of configuration, as the proofs of both need it. */
interface Side {
  readonly name: 'Validating' | 'Mutating';
  /** Registers the webhook that refuses, or that adds a stage, on these operations and conditions. */
  readonly register: (hooks: Hooks, change?: object, labels?: Readonly<Record<string, string>>) => Promise<string>;
  /** Waits until maps feel it, or no longer do. */
  readonly until: (hooks: Hooks, state: 'in force' | 'absent') => Promise<void>;
  readonly list: (hooks: Hooks, labelSelector: string) => Promise<readonly object[]>;
  readonly deleteAll: (hooks: Hooks, labelSelector: string) => Promise<unknown>;
  readonly setOperations: (hooks: Hooks, name: string, operations: string[]) => Promise<unknown>;
  readonly patchOperations: (hooks: Hooks, name: string, body: object) => Promise<unknown>;
  readonly setConditions: (hooks: Hooks, name: string, conditions: V1MatchCondition[]) => Promise<V1MatchCondition[]>;
}

const firstRule = (webhooks: { rules?: V1RuleWithOperations[] }[] | undefined): V1RuleWithOperations => {
  const rule = webhooks?.[0]?.rules?.[0];
  if (rule === undefined) throw new Error('the configuration has no rule');
  return rule;
};

const VALIDATING: Side = {
  name: 'Validating',
  register: (hooks, change = {}, labels = {}) =>
    hooks.validate([hooks.hook('/configmaps', CONFIG_MAPS, change)], labels),
  until: async (hooks, state) => {
    if (state === 'in force') await hooks.untilRefused(DISALLOWED);
    else await eventually('the webhook is gone', EFFECTIVE_MS, () => hooks.passingMap(DISALLOWED));
  },
  list: async ({ api }, labelSelector) => (await api.listValidatingWebhookConfiguration({ labelSelector })).items,
  deleteAll: ({ api }, labelSelector) => api.deleteCollectionValidatingWebhookConfiguration({ labelSelector }),
  setOperations: ({ api }, name, operations) =>
    retryOnConflict(async () => {
      const body = await api.readValidatingWebhookConfiguration({ name });
      firstRule(body.webhooks).operations = operations;
      return await api.replaceValidatingWebhookConfiguration({ name, body });
    }),
  patchOperations: ({ api }, name, body) => api.patchValidatingWebhookConfiguration({ name, body }, JSON_PATCH),
  setConditions: ({ api }, name, conditions) =>
    retryOnConflict(async () => {
      const body = await api.readValidatingWebhookConfiguration({ name });
      for (const webhook of body.webhooks ?? []) webhook.matchConditions = conditions;
      await api.replaceValidatingWebhookConfiguration({ name, body });
      return (await api.readValidatingWebhookConfiguration({ name })).webhooks?.[0]?.matchConditions ?? [];
    }),
};

const MUTATING: Side = {
  name: 'Mutating',
  register: (hooks, change = {}, labels = {}) => hooks.mutate([hooks.hook('/stage-1', CONFIG_MAPS, change)], labels),
  until: (hooks, state) => hooks.untilData(STARTED, state === 'in force' ? STAGED_ONCE : STARTED),
  list: async ({ api }, labelSelector) => (await api.listMutatingWebhookConfiguration({ labelSelector })).items,
  deleteAll: ({ api }, labelSelector) => api.deleteCollectionMutatingWebhookConfiguration({ labelSelector }),
  setOperations: ({ api }, name, operations) =>
    retryOnConflict(async () => {
      const body = await api.readMutatingWebhookConfiguration({ name });
      firstRule(body.webhooks).operations = operations;
      return await api.replaceMutatingWebhookConfiguration({ name, body });
    }),
  patchOperations: ({ api }, name, body) => api.patchMutatingWebhookConfiguration({ name, body }, JSON_PATCH),
  setConditions: ({ api }, name, conditions) =>
    retryOnConflict(async () => {
      const body = await api.readMutatingWebhookConfiguration({ name });
      for (const webhook of body.webhooks ?? []) webhook.matchConditions = conditions;
      await api.replaceMutatingWebhookConfiguration({ name, body });
      return (await api.readMutatingWebhookConfiguration({ name })).webhooks?.[0]?.matchConditions ?? [];
    }),
};

/** Configurations listed and deleted by label; rules changed by update and by patch; conditions, and wrong ones. */
function proofsOf(side: Side): readonly Proof[] {
  const lower = side.name.toLowerCase();
  return [
    proof(`${WEBHOOK} listing ${lower} webhooks should work [Conformance]`, async (world) => {
      const hooks = await Hooks.open(world);
      const label = world.unique('list');
      const selector = `conformance=${label}`;
      await Promise.all(Array.from({ length: 10 }, () => side.register(hooks, {}, { conformance: label })));
      expect(await side.list(hooks, selector)).toHaveLength(10);
      await side.until(hooks, 'in force');
      await side.deleteAll(hooks, selector);
      await side.until(hooks, 'absent');
    }),

    proof(`${WEBHOOK} patching/updating a ${lower} webhook should work [Conformance]`, async (world) => {
      const hooks = await Hooks.open(world);
      const name = await side.register(hooks);
      await side.until(hooks, 'in force');
      await side.setOperations(hooks, name, ['UPDATE']);
      await side.until(hooks, 'absent');
      const body = [{ op: 'replace', path: '/webhooks/0/rules/0/operations', value: WRITES }];
      await side.patchOperations(hooks, name, body);
      await side.until(hooks, 'in force');
    }),

    proof(
      `${WEBHOOK} should be able to create and update ${lower} webhook configurations with match conditions [Conformance]`,
      async (world) => {
        const hooks = await Hooks.open(world);
        const name = await side.register(hooks, { matchConditions: [NO_LEASES] });
        await side.until(hooks, 'in force');
        expect(await side.setConditions(hooks, name, [NO_LEASES, NO_NODES])).toEqual([NO_LEASES, NO_NODES]);
      },
    ),

    proof(
      `${WEBHOOK} should reject ${lower} webhook configurations with invalid match conditions [Conformance]`,
      async (world) => {
        const hooks = await Hooks.open(world);
        const message = await expectInvalid(side.register(hooks, { matchConditions: [WRONG, WRONG_TYPE] }));
        expect(message).toContain('compilation failed');
      },
    ),
  ];
}

export const WEBHOOK_CONFIGURATION_PROOFS: readonly Proof[] = [
  ...proofsOf(VALIDATING),
  ...proofsOf(MUTATING),

  proof(`${WEBHOOK} should mutate everything except 'skip-me' configmaps [Conformance]`, async (world) => {
    const hooks = await Hooks.open(world);
    const matchConditions = [{ name: 'skip-me', expression: "object.metadata.name != 'skip-me'" }];
    await MUTATING.register(hooks, { matchConditions });
    await MUTATING.until(hooks, 'in force');
    expect((await hooks.createMap('skip-me', STARTED)).data).toEqual(STARTED);
  }),

  proof(
    `${WEBHOOK} should not be able to mutate or prevent deletion of webhook configuration objects [Conformance]`,
    async (world) => expectConfigurationsFree(world),
  ),
];

/** Webhooks that would refuse every deletion and change every creation of configurations do neither. */
async function expectConfigurationsFree(world: World): Promise<void> {
  const hooks = await Hooks.open(world);
  const rules = [
    {
      apiGroups: ['admissionregistration.k8s.io'],
      apiVersions: ['*'],
      resources: ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'],
      operations: ['CREATE', 'DELETE'],
    },
  ];
  const own = { objectSelector: { matchLabels: { [hooks.namespace]: 'true' } }, namespaceSelector: {} };
  const maps = { ...CONFIG_MAPS, operations: ['CREATE'] };
  await hooks.validate([
    hooks.hook('/deny', CONFIG_MAPS, { rules, ...own }),
    hooks.hook('/configmaps', CONFIG_MAPS, { rules: [maps] }),
  ]);
  await hooks.mutate([
    hooks.hook('/init-container', CONFIG_MAPS, { rules, ...own }),
    hooks.hook('/stage-1', CONFIG_MAPS, { rules: [maps] }),
  ]);
  // Both configurations are in force, as their other webhooks show.
  await hooks.untilRefused(DISALLOWED);
  await hooks.untilData(STARTED, STAGED_ONCE);
  const labels = { [hooks.namespace]: 'true' };
  const { api } = hooks;
  const validating = world.unique('free');
  await api.createValidatingWebhookConfiguration({ body: { metadata: { name: validating, labels }, webhooks: [] } });
  expect((await api.readValidatingWebhookConfiguration({ name: validating })).webhooks ?? []).toEqual([]);
  await api.deleteValidatingWebhookConfiguration({ name: validating });
  const mutating = world.unique('free');
  await api.createMutatingWebhookConfiguration({ body: { metadata: { name: mutating, labels }, webhooks: [] } });
  expect((await api.readMutatingWebhookConfiguration({ name: mutating })).webhooks ?? []).toEqual([]);
  await api.deleteMutatingWebhookConfiguration({ name: mutating });
}
