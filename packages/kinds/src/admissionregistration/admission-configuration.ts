import type { KubeObject, ParamRef } from '@gantry/objects';
import { ageColumn, type Column, column, nameColumn } from '@gantry/apimachinery';
import { staticSuffixWarnings } from './match-resources.ts';
import { formatParamRef } from './policies.ts';

/** The common strategy of all kinds of this group. */
export const admissionConfiguration = {
  finalizers: 'qualified',
  metadataOnUpdate: 'object',
  warnings: ({ metadata }: KubeObject) => staticSuffixWarnings(metadata.name),
  allowUnconditionalUpdate: false,
  hasGeneration: true,
} as const;

/** The number of webhooks in a configuration. */
export const webhooksColumn = column<KubeObject & { readonly webhooks?: readonly unknown[] }>(
  'Webhooks',
  'Webhooks indicates the number of webhooks registered in this configuration',
  ({ webhooks }) => webhooks?.length ?? 0,
  { type: 'integer' },
);

type PolicyBinding = KubeObject & { readonly spec?: { readonly policyName?: string; readonly paramRef?: ParamRef } };

/** The columns of bindings of both kinds of policies. */
export const policyBindingColumns: readonly Column<PolicyBinding>[] = [
  nameColumn,
  column(
    'PolicyName',
    'PolicyName indicates the policy definition which the policy binding binded to',
    ({ spec }) => spec?.policyName ?? '',
  ),
  column('ParamRef', 'ParamRef indicates the param resource which sets the configuration param', ({ spec }) =>
    formatParamRef(spec?.paramRef),
  ),
  ageColumn,
];
