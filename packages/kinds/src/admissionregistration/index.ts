import type { ResourceDefinition } from '@gantry/apimachinery';
import { mutatingAdmissionPolicyBindings } from './mutating-admission-policy-binding.ts';
import { mutatingAdmissionPolicies } from './mutating-admission-policy.ts';
import { mutatingWebhookConfigurations } from './mutating-webhook-configuration.ts';
import { validatingAdmissionPolicyBindings } from './validating-admission-policy-binding.ts';
import { validatingAdmissionPolicies } from './validating-admission-policy.ts';
import { validatingWebhookConfigurations } from './validating-webhook-configuration.ts';

/** The kinds of `admissionregistration.k8s.io`, in discovery's order. */
export const admissionregistrationKinds: readonly ResourceDefinition[] = [
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  mutatingWebhookConfigurations,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
  validatingWebhookConfigurations,
];
