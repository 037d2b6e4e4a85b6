import type * as k8s from '@kubernetes/client-node';
import type { KubernetesObject } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { apiOperations, type Operations } from './api-operations.ts';
import { certificateOperations } from './certificates.ts';
import { KINDS } from './kinds.ts';
import { retryOnConflict } from './outcome.ts';
import type { Resource } from './resource.ts';
import type { Proof } from './world.ts';

interface Conditioned extends KubernetesObject {
  status?: { conditions?: { type?: string; status?: string; reason?: string; message?: string }[] };
}

/** Reads /status, adds a condition by a patch of it and another by an update of it. */
async function exerciseStatusConditions<T extends KubernetesObject>(
  resource: Resource<T>,
  name: string,
  created: T,
): Promise<void> {
  const conditioned = resource as unknown as Resource<Conditioned>;
  const status = await conditioned.get(name, 'status');
  expect(status).toMatchObject({ kind: resource.kind.kind, metadata: { uid: created.metadata?.uid } });
  const condition = { status: 'False', reason: 'Conformance', message: 'Set by a test' };
  const at = '2024-01-01T00:00:00Z';
  const patch = { status: { conditions: [{ ...condition, type: 'PatchStatusFailed', lastTransitionTime: at }] } };
  const patched = await conditioned.patch(name, 'merge', patch, 'status');
  expect(types(patched)).toContain('PatchStatusFailed');
  const updated = await retryOnConflict(async () => {
    const object = await conditioned.get(name);
    const added = { ...condition, type: 'StatusUpdateFailed', lastTransitionTime: new Date(at) };
    object.status = { ...object.status, conditions: [...(object.status?.conditions ?? []), added] };
    return await conditioned.replace(object, 'status');
  });
  expect(types(updated)).toContain('StatusUpdateFailed');
}

const types = (object: Conditioned) => (object.status?.conditions ?? []).map(({ type }) => type);

const DEPLOYMENT_RULE: k8s.V1NamedRuleWithOperations = {
  operations: ['CREATE'],
  apiGroups: ['apps'],
  apiVersions: ['v1'],
  resources: ['deployments'],
};

const BACKEND: k8s.V1IngressBackend = { service: { name: 'backend', port: { number: 8080 } } };

const FLOW_SCHEMA: Operations<k8s.V1FlowSchema> = {
  codename: '[sig-api-machinery] API priority and fairness should support FlowSchema API operations [Conformance]',
  kind: KINDS.FlowSchema,
  subresources: ['status'],
  body: () => ({
    spec: {
      matchingPrecedence: 10_000,
      priorityLevelConfiguration: { name: 'global-default' },
      distinguisherMethod: { type: 'ByUser' },
      rules: [
        {
          subjects: [{ kind: 'User', user: { name: 'absent-user' } }],
          nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        },
      ],
    },
  }),
  patched: { spec: { matchingPrecedence: 9999 } },
  updated: { spec: { matchingPrecedence: 9000 } },
  more: exerciseStatusConditions,
};

const PRIORITY_LEVEL: Operations<k8s.V1PriorityLevelConfiguration> = {
  codename:
    '[sig-api-machinery] API priority and fairness should support PriorityLevelConfiguration API operations [Conformance]',
  kind: KINDS.PriorityLevelConfiguration,
  subresources: ['status'],
  body: () => ({
    spec: { type: 'Limited', limited: { nominalConcurrencyShares: 2, limitResponse: { type: 'Reject' } } },
  }),
  patched: { spec: { limited: { nominalConcurrencyShares: 4 } } },
  updated: { spec: { limited: { nominalConcurrencyShares: 6 } } },
  more: exerciseStatusConditions,
};

const MUTATING_POLICY: Operations<k8s.V1MutatingAdmissionPolicy> = {
  codename:
    '[sig-api-machinery] MutatingAdmissionPolicy [Privileged:ClusterAdmin] should support MutatingAdmissionPolicy API operations [Conformance]',
  kind: KINDS.MutatingAdmissionPolicy,
  body: () => ({
    spec: {
      reinvocationPolicy: 'Never',
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: { expression: 'Object{spec: Object.spec{replicas: 100}}' },
        },
      ],
      matchConstraints: { resourceRules: [DEPLOYMENT_RULE] },
    },
  }),
  patched: { spec: { reinvocationPolicy: 'IfNeeded' } },
  updated: { spec: { reinvocationPolicy: 'Never' } },
};

const MUTATING_BINDING: Operations<k8s.V1MutatingAdmissionPolicyBinding> = {
  codename:
    '[sig-api-machinery] MutatingAdmissionPolicy [Privileged:ClusterAdmin] should support MutatingAdmissionPolicyBinding API operations [Conformance]',
  kind: KINDS.MutatingAdmissionPolicyBinding,
  body: () => ({ spec: { policyName: 'no-such-policy.example.com' } }),
  patched: { spec: { policyName: 'other-policy.example.com' } },
  updated: { spec: { policyName: 'third-policy.example.com' } },
};

const VALIDATING_POLICY: Operations<k8s.V1ValidatingAdmissionPolicy> = {
  codename:
    '[sig-api-machinery] ValidatingAdmissionPolicy [Privileged:ClusterAdmin] should support ValidatingAdmissionPolicy API operations [Conformance]',
  kind: KINDS.ValidatingAdmissionPolicy,
  subresources: ['status'],
  body: () => ({
    spec: {
      validations: [{ expression: 'object.spec.replicas <= 100' }],
      matchConstraints: { resourceRules: [DEPLOYMENT_RULE] },
    },
  }),
  patched: { spec: { failurePolicy: 'Ignore' } },
  updated: { spec: { failurePolicy: 'Fail' } },
  more: exerciseStatusConditions,
};

const VALIDATING_BINDING: Operations<k8s.V1ValidatingAdmissionPolicyBinding> = {
  codename:
    '[sig-api-machinery] ValidatingAdmissionPolicy [Privileged:ClusterAdmin] should support ValidatingAdmissionPolicyBinding API operations [Conformance]',
  kind: KINDS.ValidatingAdmissionPolicyBinding,
  body: () => ({ spec: { policyName: 'no-such-policy.example.com', validationActions: ['Deny'] } }),
  patched: { spec: { validationActions: ['Warn'] } },
  updated: { spec: { validationActions: ['Deny'] } },
};

const CRON_JOB: Operations<k8s.V1CronJob> = {
  codename: '[sig-apps] CronJob should support CronJob API operations [Conformance]',
  kind: KINDS.CronJob,
  subresources: ['status'],
  body: () => ({
    spec: {
      // Suspended: what is asked is the API, and no Job may be started while it is.
      suspend: true,
      schedule: '* */1 * * ?',
      concurrencyPolicy: 'Allow',
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 0,
      jobTemplate: {
        spec: { template: { spec: { restartPolicy: 'OnFailure', containers: [{ name: 'c', image: 'busybox' }] } } },
      },
    },
  }),
  more: async (resource, name, created) => {
    const first = new Date('2024-01-01T00:00:00Z');
    const second = new Date('2024-01-01T01:00:00Z');
    const annotated = { metadata: { annotations: { patchedstatus: 'true' } } };
    const patch = { ...annotated, status: { lastScheduleTime: first.toISOString() } };
    const patched = await resource.patch(name, 'merge', patch, 'status');
    expect(patched).toMatchObject({ ...annotated, status: { lastScheduleTime: first } });
    const updated = await retryOnConflict(async () => {
      const object = await resource.get(name);
      return await resource.replace({ ...object, status: { lastScheduleTime: second } }, 'status');
    });
    expect(updated.status?.lastScheduleTime).toEqual(second);
    expect((await resource.get(name, 'status')).metadata?.uid).toBe(created.metadata?.uid);
  },
};

const ENDPOINT_SLICE: Operations<k8s.V1EndpointSlice> = {
  codename: '[sig-network] EndpointSlice should support creating EndpointSlice API operations [Conformance]',
  kind: KINDS.EndpointSlice,
  body: () => ({
    addressType: 'IPv4',
    endpoints: [{ addresses: ['1.2.3.4', '5.6.7.8'] }, { addresses: ['2.2.3.4', '6.6.7.8'] }],
  }),
};

const INGRESS: Operations<k8s.V1Ingress> = {
  codename: '[sig-network] Ingress API should support creating Ingress API operations [Conformance]',
  kind: KINDS.Ingress,
  subresources: ['status'],
  body: (number) => ({
    spec: {
      defaultBackend: BACKEND,
      rules: [
        {
          host: `host${number}.bar.com`,
          http: { paths: [{ path: '/', pathType: 'ImplementationSpecific', backend: BACKEND }] },
        },
      ],
    },
  }),
  more: async (resource, name, created) => {
    const at = (ip: string) => ({ loadBalancer: { ingress: [{ ip }] } });
    const patch = { metadata: { annotations: { patchedstatus: 'true' } }, status: at('169.1.1.1') };
    expect(await resource.patch(name, 'merge', patch, 'status')).toMatchObject(patch);
    const updated = await retryOnConflict(async () => {
      const object = await resource.get(name);
      return await resource.replace({ ...object, status: at('169.1.1.2') }, 'status');
    });
    expect(updated).toMatchObject({ status: at('169.1.1.2') });
    expect((await resource.get(name, 'status')).metadata?.uid).toBe(created.metadata?.uid);
  },
};

const INGRESS_CLASS: Operations<k8s.V1IngressClass> = {
  codename: '[sig-network] IngressClass API should support creating IngressClass API operations [Conformance]',
  kind: KINDS.IngressClass,
  body: () => ({ spec: { controller: 'example.com/controller' } }),
};

const RUNTIME_CLASS: Operations<k8s.V1RuntimeClass> = {
  codename: '[sig-node] RuntimeClass should support RuntimeClasses API operations [Conformance]',
  kind: KINDS.RuntimeClass,
  names: 'chosen',
  body: () => ({ handler: 'some-handler' }),
};

const STORAGE_CAPACITY: Operations<k8s.V1CSIStorageCapacity> = {
  codename: '[sig-storage] CSIStorageCapacity should support CSIStorageCapacities API operations [Conformance]',
  kind: KINDS.CSIStorageCapacity,
  names: 'chosen',
  body: () => ({ storageClassName: 'e2e.example.com' }),
};

export const OPERATIONS: readonly Proof[] = [
  apiOperations(FLOW_SCHEMA),
  apiOperations(PRIORITY_LEVEL),
  apiOperations(MUTATING_POLICY),
  apiOperations(MUTATING_BINDING),
  apiOperations(VALIDATING_POLICY),
  apiOperations(VALIDATING_BINDING),
  apiOperations(CRON_JOB),
  apiOperations(ENDPOINT_SLICE),
  apiOperations(INGRESS),
  apiOperations(INGRESS_CLASS),
  apiOperations(RUNTIME_CLASS),
  apiOperations(STORAGE_CAPACITY),
  certificateOperations,
];
