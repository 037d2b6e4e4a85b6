import { ignoreNotFound } from '@gantry/client';
import { carryOut, type ControllerSpec } from '@gantry/controller-runtime';
import { CUSTOM_RESOURCE_DEFINITIONS, keyOf, VALIDATING_ADMISSION_POLICIES } from '@gantry/objects';
import { type Action, planPolicyStatus } from './plan.ts';

/** Applied with a separate field manager, as in Kubernetes: status fields of other managers are not changed. */
const APPLY = { fieldManager: 'validatingadmissionpolicy-status', subresource: 'status' } as const;

/** Reports in the status of validating policies which expressions do not type-check for the kinds that they match. */
export const admissionPolicyStatusController: ControllerSpec = {
  name: 'admission-policy-status',
  eventSource: 'validatingadmissionpolicy-status-controller',
  watches: [
    { resource: VALIDATING_ADMISSION_POLICIES, keys: (object) => (object === undefined ? [] : [keyOf(object)]) },
    // Only cached: changes of definitions queue nothing.
    { resource: CUSTOM_RESOURCE_DEFINITIONS, keys: () => [] },
  ],
  reconcile: async (key, { cache, client, clock }, signal) => {
    const policy = cache.get(VALIDATING_ADMISSION_POLICIES, key);
    const applyStatus = ({ status }: Action) => {
      const { group, version, kind } = VALIDATING_ADMISSION_POLICIES;
      const object = { apiVersion: `${group}/${version}`, kind, metadata: { name: key.name }, status };
      return ignoreNotFound(client.apply(VALIDATING_ADMISSION_POLICIES, object, APPLY, signal));
    };
    return await carryOut(planPolicyStatus(policy, cache.list(CUSTOM_RESOURCE_DEFINITIONS)), applyStatus, clock);
  },
};
