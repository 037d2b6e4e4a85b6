import { type CustomResourceDefinition, keyOf, type ObjectKey, type ValidatingAdmissionPolicy } from '@gantry/api';
import type { ControllerContext, ControllerSpec, Result } from '@gantry/controller-runtime';
import { ignoreNotFound } from '../ignore-not-found.ts';
import { planPolicyStatus } from './plan.ts';

const POLICIES = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingadmissionpolicies',
};
/** Applied under a name of its own, as Kubernetes does: what others write of the status stays theirs. */
const FIELD_MANAGER = 'validatingadmissionpolicy-status';
const DEFINITIONS = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };

/** Tells the authors of validating policies which of their expressions do not fit the kinds that they are about. */
export const admissionPolicyStatusController: ControllerSpec = {
  name: 'admission-policy-status',
  eventSource: 'validatingadmissionpolicy-status-controller',
  watches: [
    { resource: POLICIES, keys: (object) => (object === undefined ? [] : [keyOf(object)]) },
    // Only to be looked up.
    { resource: DEFINITIONS, keys: () => [] },
  ],
  reconcile,
};

async function reconcile(key: ObjectKey, { cache, client }: ControllerContext, signal: AbortSignal): Promise<Result> {
  const policy = cache.get<ValidatingAdmissionPolicy>(POLICIES, key);
  for (const { status } of planPolicyStatus(policy, cache.list<CustomResourceDefinition>(DEFINITIONS))) {
    const patch = {
      apiVersion: `${POLICIES.group}/${POLICIES.version}`,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: key.name },
      status,
    };
    const patchType = 'application/apply-patch+yaml';
    const how = { patch, patchType, fieldManager: FIELD_MANAGER, subresource: 'status' } as const;
    await ignoreNotFound(client.write({ verb: 'patch', resource: POLICIES, key, ...how }, signal));
  }
  return {};
}
