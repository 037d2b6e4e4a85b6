import {
  AdmissionregistrationV1Api,
  AppsV1Api,
  type V1Deployment,
  type V1MutatingAdmissionPolicy,
  type V1ValidatingAdmissionPolicy,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { refusal } from './outcome.ts';
import { deployment, replicaSet } from './workloads.ts';
import { type Proof, proof, type World } from './world.ts';

const EFFECTIVE_MS = 120_000;
const VALIDATING = '[sig-api-machinery] ValidatingAdmissionPolicy [Privileged:ClusterAdmin] should';
const MUTATING = '[sig-api-machinery] MutatingAdmissionPolicy [Privileged:ClusterAdmin] should';

/** Deployments of one namespace: its name is one of its labels. */
const only = (namespace: string) => ({
  namespaceSelector: { matchLabels: { [namespace]: 'true' } },
  resourceRules: [
    { operations: ['CREATE', 'UPDATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] },
  ],
});

const bound = (namespace: string) => ({ namespaceSelector: { matchLabels: { [namespace]: 'true' } } });

/** A policy and its binding, in force in one namespace until the test is over. */
async function validate(
  world: World,
  namespace: string,
  spec: NonNullable<V1ValidatingAdmissionPolicy['spec']>,
): Promise<void> {
  const api = world.api(AdmissionregistrationV1Api);
  const [name, binding] = [`${namespace}.policy.example.com`, `${namespace}.binding.example.com`];
  const policy = { metadata: { name }, spec: { matchConstraints: only(namespace), ...spec } };
  await api.createValidatingAdmissionPolicy({ body: policy });
  world.atEnd(() => api.deleteValidatingAdmissionPolicy({ name }));
  const rule = { policyName: name, matchResources: bound(namespace), validationActions: ['Deny'] };
  await api.createValidatingAdmissionPolicyBinding({ body: { metadata: { name: binding }, spec: rule } });
  world.atEnd(() => api.deleteValidatingAdmissionPolicyBinding({ name: binding }));
}

async function mutate(world: World, namespace: string, expression: string): Promise<void> {
  const api = world.api(AdmissionregistrationV1Api);
  const [name, binding] = [`${namespace}.policy.example.com`, `${namespace}.binding.example.com`];
  const policy: V1MutatingAdmissionPolicy = {
    metadata: { name },
    spec: {
      reinvocationPolicy: 'Never',
      matchConstraints: only(namespace),
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
    },
  };
  await api.createMutatingAdmissionPolicy({ body: policy });
  world.atEnd(() => api.deleteMutatingAdmissionPolicy({ name }));
  const rule = { policyName: name, matchResources: bound(namespace) };
  await api.createMutatingAdmissionPolicyBinding({ body: { metadata: { name: binding }, spec: rule } });
  world.atEnd(() => api.deleteMutatingAdmissionPolicyBinding({ name: binding }));
}

/** What a creation is answered with; the object goes again at once, and has started nothing. Retries are creations under the same name. */
async function createAndDelete(world: World, namespace: string, body: V1Deployment): Promise<V1Deployment> {
  const apps = world.api(AppsV1Api);
  if (body.spec !== undefined) body.spec.paused = true;
  const made = await apps.createNamespacedDeployment({ namespace, body });
  await apps.deleteNamespacedDeployment({ namespace, name: made.metadata?.name ?? '' });
  return made;
}

/** One Deployment is denied as invalid, another is not, and other kinds are left alone. */
async function expectJudged(world: World, namespace: string, denied: number, allowed: number): Promise<string> {
  const apps = world.api(AppsV1Api);
  const message = await eventually('the policy is in force', EFFECTIVE_MS, async () => {
    const status = await refusal(createAndDelete(world, namespace, deployment('marker', denied)));
    expect(status).toMatchObject({ code: 422, reason: 'Invalid' });
    return status.message;
  });
  await createAndDelete(world, namespace, deployment('allowed', allowed));
  const other = await apps.createNamespacedReplicaSet({ namespace, body: replicaSet('other', 1) });
  await apps.deleteNamespacedReplicaSet({ namespace, name: other.metadata?.name ?? '' });
  return message;
}

async function expectMutated(
  world: World,
  namespace: string,
  isMutated: (made: V1Deployment) => boolean,
): Promise<void> {
  await eventually('the policy is in force', EFFECTIVE_MS, async () => {
    return isMutated(await createAndDelete(world, namespace, deployment('marker', 1)));
  });
}

export const ADMISSION_POLICIES: readonly Proof[] = [
  proof(`${VALIDATING} validate against a Deployment [Conformance]`, async (world) => {
    const namespace = await world.namespace();
    await validate(world, namespace, {
      validations: [
        {
          expression: 'object.spec.replicas > 1',
          messageExpression: "'wants replicas > 1, got ' + object.spec.replicas",
        },
        { expression: `namespaceObject.metadata.name == '${namespace}'`, message: 'another namespace is judged' },
      ],
    });
    await expectJudged(world, namespace, 1, 2);
  }),

  proof(`${VALIDATING} allow expressions to refer variables. [Conformance]`, async (world) => {
    const namespace = await world.namespace();
    await validate(world, namespace, {
      variables: [
        { name: 'replicas', expression: 'object.spec.replicas' },
        { name: 'oddReplicas', expression: 'variables.replicas % 2 == 1' },
      ],
      validations: [{ expression: 'variables.replicas > 1' }, { expression: 'variables.oddReplicas' }],
    });
    expect(await expectJudged(world, namespace, 1, 3)).toContain('variables.replicas > 1');
  }),

  proof(`${MUTATING} mutate a Deployment with annotations [Conformance]`, async (world) => {
    const namespace = await world.namespace();
    const annotations = 'annotations: {"mutated-by": "admission-policy"}';
    await mutate(world, namespace, `Object{metadata: Object.metadata{${annotations}}}`);
    await expectMutated(
      world,
      namespace,
      ({ metadata }) => metadata?.annotations?.['mutated-by'] === 'admission-policy',
    );
  }),

  proof(`${MUTATING} mutate a Deployment [Conformance]`, async (world) => {
    const namespace = await world.namespace();
    await mutate(world, namespace, 'Object{spec: Object.spec{replicas: 1337}}');
    await expectMutated(world, namespace, ({ spec }) => spec?.replicas === 1337);
  }),
];
