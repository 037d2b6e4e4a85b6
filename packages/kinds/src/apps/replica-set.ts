import { type FieldError, REPLICA_SETS, type ReplicaSet, equalJson, invalid } from '@gantry/objects';
import {
  IMMUTABLE,
  PART_VERBS,
  ageColumn,
  defineResource,
  nameColumn,
  nonNegative,
  fieldColumn,
} from '@gantry/apimachinery';
import { defaultPodTemplate } from '../pod-spec/defaults.ts';
import { validateReplicatedTemplate } from '../pod-spec/template.ts';
import { replicatedWarnings } from '../workloads/name-warnings.ts';
import { validateReplicaCounts } from '../workloads/replica-counts.ts';
import { scaleOfSelector } from '../workloads/scale-subresource.ts';
import { workloadColumns } from '../workloads/columns.ts';

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

export const replicaSets = defineResource(REPLICA_SETS, {
  shortNames: ['rs'],
  categories: ['all'],
  schema: 'apps.v1.ReplicaSet',
  strategy: {
    applyDefaults,
    prepareForCreate: (object) => {
      object.status = { replicas: 0 };
    },
    prepareForUpdate: keepStatus,
    validate,
    validateUpdate,
    metadataOnUpdate: 'change',
    warnings: replicatedWarnings,
    hasGeneration: true,
  },
  subresources: [
    scaleOfSelector,
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        if (old.spec !== undefined) object.spec = old.spec;
      },
      validateUpdate: (object, old) => validateReplicaCounts(object.status, old.status),
    },
  ],
  podTemplate: ({ spec }) => spec?.template,
  columns: [
    nameColumn,
    fieldColumn('Desired', 'apps.v1.ReplicaSetSpec', 'spec.replicas', { none: 0, type: 'integer' }),
    fieldColumn('Current', 'apps.v1.ReplicaSetStatus', 'status.replicas', { none: 0, type: 'integer' }),
    fieldColumn('Ready', 'apps.v1.ReplicaSetStatus', 'status.readyReplicas', { none: 0, type: 'integer' }),
    ageColumn,
    ...workloadColumns(
      "Selector is a label query over pods that should match the replica count. Label keys and values that must match in order to be controlled by this replica set. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
    ),
  ],
});
