import {
  DEPLOYMENTS,
  type Deployment,
  type DeploymentStrategy,
  type FieldError,
  type RollingUpdateDeployment,
  equalJson,
  forbidden,
  invalid,
  required,
} from '@gantry/objects';
import {
  IMMUTABLE,
  PART_VERBS,
  ageColumn,
  defineResource,
  nameColumn,
  nonNegative,
  unsupported,
  fieldColumn,
} from '@gantry/apimachinery';
import { amountOf, validateAtMostAll, validateIntOrPercent } from '../fields/int-or-percent.ts';
import { defaultPodTemplate } from '../pod-spec/defaults.ts';
import { validateReplicatedTemplate } from '../pod-spec/template.ts';
import { replicatedWarnings } from '../workloads/name-warnings.ts';
import { validateReplicaCounts } from '../workloads/replica-counts.ts';
import { scaleOfSelector } from '../workloads/scale-subresource.ts';
import { readyColumn, workloadColumns } from '../workloads/columns.ts';

function applyDefaults(object: Deployment): void {
  const spec = (object.spec ??= { selector: {}, template: {} });
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  const strategy = (spec.strategy ??= {});
  if (strategy.type === undefined || strategy.type === '') strategy.type = 'RollingUpdate';
  if (strategy.type === 'RollingUpdate') {
    const rolling = (strategy.rollingUpdate ??= {});
    rolling.maxUnavailable ??= '25%';
    rolling.maxSurge ??= '25%';
  }
  defaultPodTemplate(spec.template);
}

function validate(object: Deployment): FieldError[] {
  const { spec } = object;
  const { minReadySeconds = 0, revisionHistoryLimit, progressDeadlineSeconds } = spec ?? {};
  const errors = [
    ...nonNegative('spec.replicas', spec?.replicas),
    ...validateReplicatedTemplate(spec?.selector, spec?.template, 'spec'),
    ...validateStrategy(spec?.strategy ?? {}, 'spec.strategy'),
    ...nonNegative('spec.minReadySeconds', minReadySeconds),
    ...nonNegative('spec.revisionHistoryLimit', revisionHistoryLimit),
    ...nonNegative('spec.progressDeadlineSeconds', progressDeadlineSeconds),
  ];
  if (progressDeadlineSeconds !== undefined && progressDeadlineSeconds <= minReadySeconds) {
    errors.push(
      invalid('spec.progressDeadlineSeconds', progressDeadlineSeconds, 'must be greater than minReadySeconds'),
    );
  }
  return errors;
}

function validateStrategy(strategy: DeploymentStrategy, path: string): FieldError[] {
  const { type = '', rollingUpdate } = strategy;
  switch (type) {
    case 'Recreate':
      return rollingUpdate === undefined
        ? []
        : [forbidden(`${path}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'")];
    case 'RollingUpdate':
      return rollingUpdate === undefined
        ? [required(`${path}.rollingUpdate`, 'this should be defaulted and never be nil')]
        : validateRollingUpdate(rollingUpdate, `${path}.rollingUpdate`);
    default:
      return [unsupported(path, printed(strategy), ['Recreate', 'RollingUpdate'])];
  }
}

/** As Kubernetes prints it in messages. */
function printed({ type = '', rollingUpdate }: DeploymentStrategy) {
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  const rolling = rollingUpdate === undefined ? null : { MaxUnavailable: maxUnavailable, MaxSurge: maxSurge };
  return { Type: type, RollingUpdate: rolling };
}

function validateRollingUpdate(
  { maxUnavailable = 0, maxSurge = 0 }: RollingUpdateDeployment,
  path: string,
): FieldError[] {
  const errors = [
    ...validateIntOrPercent(maxUnavailable, `${path}.maxUnavailable`),
    ...validateIntOrPercent(maxSurge, `${path}.maxSurge`),
  ];
  if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0) {
    errors.push(invalid(`${path}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0'));
  }
  return [...errors, ...validateAtMostAll(maxUnavailable, `${path}.maxUnavailable`)];
}

function validateUpdate(object: Deployment, old: Deployment): FieldError[] {
  return equalJson(object.spec?.selector, old.spec?.selector)
    ? []
    : [invalid('spec.selector', object.spec?.selector, IMMUTABLE)];
}

/** Annotations are copied to the replica sets, so they are part of the desired state: a change raises the generation. */
function prepareForUpdate(object: Deployment, old: Deployment): void {
  if (!equalJson(object.metadata.annotations ?? {}, old.metadata.annotations ?? {})) {
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
  if (old.status === undefined) delete object.status;
  else object.status = old.status;
}

/** The controller writes the revision annotation together with the status, but must not change labels. */
function prepareStatus(object: Deployment, old: Deployment): void {
  if (old.spec !== undefined) object.spec = old.spec;
  if (old.metadata.labels === undefined) delete object.metadata.labels;
  else object.metadata.labels = old.metadata.labels;
}

export const deployments = defineResource(DEPLOYMENTS, {
  shortNames: ['deploy'],
  categories: ['all'],
  schema: 'apps.v1.Deployment',
  strategy: {
    applyDefaults,
    prepareForCreate: (object) => {
      object.status = {};
    },
    prepareForUpdate,
    validate,
    validateUpdate,
    metadataOnUpdate: 'change',
    warnings: replicatedWarnings,
    hasGeneration: true,
    generationWith: 'annotations',
  },
  subresources: [
    scaleOfSelector,
    {
      name: 'status',
      resetFields: { drop: [['spec'], ['metadata', 'labels']] },
      verbs: PART_VERBS,
      prepareForUpdate: prepareStatus,
      validateUpdate: (object, old) => validateReplicaCounts(object.status, old.status),
    },
  ],
  podTemplate: ({ spec }) => spec?.template,
  columns: [
    nameColumn,
    readyColumn,
    fieldColumn('Up-to-date', 'apps.v1.DeploymentStatus', 'status.updatedReplicas', { none: 0 }),
    fieldColumn('Available', 'apps.v1.DeploymentStatus', 'status.availableReplicas', { none: 0 }),
    ageColumn,
    ...workloadColumns(
      "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels.",
    ),
  ],
});
