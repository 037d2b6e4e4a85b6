import { append } from '@gantry/base';
import { type FieldError, forbidden, invalid, required } from '../field-error.ts';
import type { PodTemplateSpec, ReplicationController } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { nonNegative, unsupported } from './rules/errors.ts';
import { keep } from './rules/keep.ts';
import { dns1123Label, longName } from './rules/names.ts';
import { defaultPodTemplate } from './rules/pod-defaults.ts';
import { validatePodTemplate } from './rules/pod-template.ts';
import { templateWarnings } from './rules/pod-warnings.ts';
import { validateReplicaCounts } from './rules/replica-counts.ts';
import { scaleOfSelector } from './rules/scale-paths.ts';
import { PART_VERBS, STORED_VERBS } from './verbs.ts';
import { formatContainers, formatLabels } from './workload-columns.ts';

/** Selector and labels are those of the template where none are given. */
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
    // Of a change Kubernetes tells what the template was.
    ...(old === undefined
      ? templateWarnings(spec?.template, undefined, 'spec.template')
      : templateWarnings(old.spec?.template, spec?.template, 'spec.template')),
  ];
}

/** What is said of a name that its pods cannot all have as hostname. */
export function surprisingName(name: string): string[] {
  const faults = dns1123Label(name);
  return faults.length === 0
    ? []
    : [
        `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${faults.join(' ')}]`,
      ];
}

export const replicationControllers: ResourceDefinition<ReplicationController> = {
  group: '',
  version: 'v1',
  kind: 'ReplicationController',
  resource: 'replicationcontrollers',
  singular: 'replicationcontroller',
  shortNames: ['rc'],
  categories: ['all'],
  namespaced: true,
  schema: 'core.v1.ReplicationController',
  verbs: STORED_VERBS,
  strategy: {
    validateName: longName,
    applyDefaults,
    prepareForCreate: (object) => {
      object.status = { replicas: 0 };
    },
    prepareForUpdate: (object, old) => {
      keep(object, old, 'status');
    },
    validate,
    metadataOnUpdate: 'change',
    warnings,
    hasGeneration: true,
    defaultPropagation: 'orphan',
  },
  subresources: [
    scaleOfSelector,
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        keep(object, old, 'spec');
      },
      validateUpdate: (object, old) => validateReplicaCounts(object.status, old.status),
    },
  ],
  columns: [
    nameColumn,
    column('Desired', 'Replicas wanted.', ({ spec }) => spec?.replicas ?? 0, { type: 'integer' }),
    column('Current', 'Pods that exist.', ({ status }) => status?.replicas ?? 0, { type: 'integer' }),
    column('Ready', 'Pods that are ready.', ({ status }) => status?.readyReplicas ?? 0, { type: 'integer' }),
    ageColumn,
    column('Containers', 'Names of the containers.', ({ spec }) => formatContainers(spec?.template, 'name'), {
      wide: 'wide',
    }),
    column('Images', 'Images of the containers.', ({ spec }) => formatContainers(spec?.template, 'image'), {
      wide: 'wide',
    }),
    column('Selector', 'Which pods are meant.', ({ spec }) => formatLabels(spec?.selector), { wide: 'wide' }),
  ],
  selectableFields: { 'status.replicas': ({ status }) => String(status?.replicas ?? 0) },
  stored: true,
};
