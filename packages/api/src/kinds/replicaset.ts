import { type FieldError, invalid } from '../field-error.ts';
import type { ReplicaSet } from '../generated/types.ts';
import { equalJson } from '../object.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { IMMUTABLE, nonNegative } from './rules/errors.ts';
import { defaultPodTemplate } from './rules/pod-defaults.ts';
import { validateReplicatedTemplate } from './rules/pod-template.ts';
import { templateWarnings } from './rules/pod-warnings.ts';
import { surprisingName } from './replicationcontroller.ts';
import { validateReplicaCounts } from './rules/replica-counts.ts';
import { PART_VERBS, STORED_VERBS } from './verbs.ts';
import { workloadColumns } from './workload-columns.ts';

function applyDefaults(object: ReplicaSet): void {
  object.spec ??= { selector: {} };
  object.spec.replicas ??= 1;
  defaultPodTemplate(object.spec.template);
}

function validate(object: ReplicaSet): FieldError[] {
  const { spec } = object;
  return [
    ...nonNegative('spec.replicas', spec?.replicas),
    ...nonNegative('spec.minReadySeconds', spec?.minReadySeconds),
    ...validateReplicatedTemplate(spec?.selector, spec?.template, 'spec'),
  ];
}

function validateUpdate(object: ReplicaSet, old: ReplicaSet): FieldError[] {
  return equalJson(object.spec?.selector, old.spec?.selector)
    ? []
    : [invalid('spec.selector', object.spec?.selector, IMMUTABLE)];
}

function keepStatus(object: ReplicaSet, old: ReplicaSet): void {
  if (old.status === undefined) delete object.status;
  else object.status = old.status;
}

export const replicaSets: ResourceDefinition<ReplicaSet> = {
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  resource: 'replicasets',
  singular: 'replicaset',
  shortNames: ['rs'],
  categories: ['all'],
  namespaced: true,
  schema: 'apps.v1.ReplicaSet',
  verbs: STORED_VERBS,
  strategy: {
    applyDefaults,
    prepareForCreate: (object) => {
      object.status = { replicas: 0 };
    },
    prepareForUpdate: keepStatus,
    validate,
    validateUpdate,
    metadataOnUpdate: 'change',
    warnings: ({ metadata, spec }, old) => [
      ...(old === undefined ? surprisingName(metadata.name ?? '') : []),
      ...templateWarnings(spec?.template, old?.spec?.template, 'spec.template'),
    ],
    hasGeneration: true,
  },
  subresources: [
    {
      name: 'scale',
      group: 'autoscaling',
      version: 'v1',
      kind: 'Scale',
      verbs: PART_VERBS,
      scale: { specReplicas: '.spec.replicas', statusReplicas: '.status.replicas', selector: '.spec.selector' },
    },
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        if (old.spec !== undefined) object.spec = old.spec;
      },
      validateUpdate: (object, old) => validateReplicaCounts(object.status, old.status),
    },
  ],
  columns: [
    nameColumn,
    column('Desired', 'Replicas wanted.', (object) => object.spec?.replicas ?? 0, { type: 'integer' }),
    column('Current', 'Pods that exist.', (object) => object.status?.replicas ?? 0, { type: 'integer' }),
    column('Ready', 'Pods that are ready.', (object) => object.status?.readyReplicas ?? 0, { type: 'integer' }),
    ageColumn,
    ...workloadColumns,
  ],
  selectableFields: {},
  stored: true,
};
