import { append } from '@gantry/base';
import {
  type FieldError,
  type PodTemplateSpec,
  REPLICATION_CONTROLLERS,
  type ReplicationController,
  forbidden,
  invalid,
  longName,
  required,
} from '@gantry/objects';
import {
  describedAs,
  ageColumn,
  column,
  defineResource,
  nameColumn,
  nonNegative,
  unsupported,
  fieldColumn,
} from '@gantry/apimachinery';
import { statusSubresource, keepStatus } from '../fields/status.ts';
import { defaultPodTemplate } from '../pod-spec/defaults.ts';
import { validatePodTemplate } from '../pod-spec/template.ts';
import { templateWarnings } from '../pod-spec/warnings.ts';
import { validateReplicaCounts } from '../workloads/replica-counts.ts';
import { scaleOfSelector } from '../workloads/scale-subresource.ts';
import { surprisingName } from '../workloads/name-warnings.ts';
import { formatContainers, formatLabels } from '../workloads/columns.ts';
import { countedByName } from '../fields/quota.ts';

/** A missing selector and missing labels default to the template's labels. */
function applyDefaults(object: ReplicationController): void {
  const spec = (object.spec ??= {});
  const labels = spec.template?.metadata?.labels;
  if (labels !== undefined) {
    if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
    if (Object.keys(object.metadata.labels ?? {}).length === 0) object.metadata.labels = { ...labels };
  }
  spec.replicas ??= 1;
  defaultPodTemplate(spec.template);
}

function validate({ spec = {} }: ReplicationController): FieldError[] {
  const { selector = {}, replicas, template } = spec;
  return [
    ...nonNegative('spec.minReadySeconds', spec.minReadySeconds),
    ...(Object.keys(selector).length === 0 ? [required('spec.selector')] : []),
    ...nonNegative('spec.replicas', replicas),
    ...(template === undefined ? [required('spec.template')] : validateTemplate(template, selector)),
  ];
}

function validateTemplate(template: PodTemplateSpec, selector: Readonly<Record<string, string>>): FieldError[] {
  const errors: FieldError[] = [];
  const labels = template.metadata?.labels;
  if (!Object.entries(selector).every(([key, value]) => labels?.[key] === value)) {
    const detail = '`selector` does not match template `labels`';
    errors.push(invalid('spec.template.metadata.labels', labels ?? null, detail));
  }
  append(errors, validatePodTemplate(template, 'spec.template'));
  const { restartPolicy = '', activeDeadlineSeconds } = template.spec ?? {};
  if (restartPolicy !== 'Always') {
    errors.push(unsupported('spec.template.spec.restartPolicy', restartPolicy, ['Always']));
  }
  if (activeDeadlineSeconds !== undefined) {
    const detail = 'activeDeadlineSeconds in ReplicationController is not Supported';
    errors.push(forbidden('spec.template.spec.activeDeadlineSeconds', detail));
  }
  return errors;
}

function warnings({ metadata, spec }: ReplicationController, old?: ReplicationController): string[] {
  return [
    ...(old === undefined ? surprisingName(metadata.name ?? '') : []),
    // For an update, Kubernetes warns about the old template.
    ...(old === undefined
      ? templateWarnings(spec?.template, undefined, 'spec.template')
      : templateWarnings(old.spec?.template, spec?.template, 'spec.template')),
  ];
}

export const replicationControllers = defineResource(REPLICATION_CONTROLLERS, {
  shortNames: ['rc'],
  categories: ['all'],
  schema: 'core.v1.ReplicationController',
  strategy: {
    deletionResponse: 'object',
    validateName: longName,
    applyDefaults,
    prepareForCreate: (object) => {
      object.status = { replicas: 0 };
    },
    prepareForUpdate: keepStatus,
    validate,
    metadataOnUpdate: 'change',
    warnings,
    hasGeneration: true,
    defaultPropagation: 'orphan',
  },
  subresources: [scaleOfSelector, statusSubresource((object, old) => validateReplicaCounts(object.status, old.status))],
  podTemplate: ({ spec }) => spec?.template,
  quota: countedByName('replicationcontrollers'),
  columns: [
    nameColumn,
    fieldColumn('Desired', 'core.v1.ReplicationControllerSpec', 'spec.replicas', { none: 0, type: 'integer' }),
    fieldColumn('Current', 'core.v1.ReplicationControllerStatus', 'status.replicas', { none: 0, type: 'integer' }),
    fieldColumn('Ready', 'core.v1.ReplicationControllerStatus', 'status.readyReplicas', { none: 0, type: 'integer' }),
    ageColumn,
    column(
      'Containers',
      'Names of each container in the template.',
      ({ spec }) => formatContainers(spec?.template, 'name'),
      {
        wide: 'wide',
      },
    ),
    column(
      'Images',
      'Images referenced by each container in the template.',
      ({ spec }) => formatContainers(spec?.template, 'image'),
      {
        wide: 'wide',
      },
    ),
    column(
      'Selector',
      describedAs('core.v1.ReplicationControllerSpec', 'selector'),
      ({ spec }) => formatLabels(spec?.selector),
      { wide: 'wide' },
    ),
  ],
  selectableFields: { 'status.replicas': ({ status }) => String(status?.replicas ?? 0) },
});
