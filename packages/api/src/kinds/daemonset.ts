import { append } from '@gantry/base';
import { type FieldError, forbidden, invalid, required } from '../field-error.ts';
import type { DaemonSet, DaemonSetUpdateStrategy, RollingUpdateDaemonSet } from '../generated/types.ts';
import { equalJson } from '../object.ts';
import type { ResourceDefinition } from '../resource.ts';
import { StatusError } from '../status-error.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { IMMUTABLE, nonNegative, unsupported } from './rules/errors.ts';
import { amountOf, validateAtMostAll, validateIntOrPercent } from './rules/int-or-percent.ts';
import { keep } from './rules/keep.ts';
import { isEmptySelector, selectorMatches, validateLabelSelector } from './rules/labels.ts';
import { defaultPodTemplate } from './rules/pod-defaults.ts';
import { validatePodTemplate } from './rules/pod-template.ts';
import { isDecremented } from './rules/replica-counts.ts';
import { templateWarnings } from './rules/pod-warnings.ts';
import { PART_VERBS, STORED_VERBS } from './verbs.ts';
import { formatLabels, workloadColumns } from './workload-columns.ts';

/** Where a DaemonSet counts the changes of its template, for clients of versions that had a field for it. */
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';
const STATUS_COUNTS = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
  'collisionCount',
] as const;

function templateGeneration({ metadata }: DaemonSet): number {
  return Number(metadata.annotations?.[TEMPLATE_GENERATION] ?? 0);
}

function setTemplateGeneration({ metadata }: DaemonSet, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [TEMPLATE_GENERATION]: String(generation) };
}

function applyDefaults(object: DaemonSet): void {
  const text = object.metadata.annotations?.[TEMPLATE_GENERATION] ?? '0';
  if (!/^[+-]?\d{1,18}$/.test(text)) {
    throw StatusError.badRequest(
      `DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  setTemplateGeneration(object, Number(text));
  const spec = (object.spec ??= { selector: {}, template: {} });
  spec.revisionHistoryLimit ??= 10;
  const strategy = (spec.updateStrategy ??= {});
  if ((strategy.type ?? '') === '') strategy.type = 'RollingUpdate';
  if (strategy.type === 'RollingUpdate') {
    const rolling = (strategy.rollingUpdate ??= {});
    rolling.maxUnavailable ??= 1;
    rolling.maxSurge ??= 0;
  }
  defaultPodTemplate(spec.template);
}

function prepareForCreate(object: DaemonSet): void {
  object.status = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
  setTemplateGeneration(object, Math.max(1, templateGeneration(object)));
}

/** The template's generation is the server's: it goes up with the template and no other way. */
function prepareForUpdate(object: DaemonSet, old: DaemonSet): void {
  keep(object, old, 'status');
  const isChanged = !equalJson(object.spec?.template, old.spec?.template);
  setTemplateGeneration(object, templateGeneration(old) + (isChanged ? 1 : 0));
}

function validate({ spec }: DaemonSet): FieldError[] {
  const { selector, template, updateStrategy = {}, minReadySeconds, revisionHistoryLimit } = spec ?? {};
  const given = selector ?? undefined;
  const faults = validateLabelSelector(given, 'spec.selector');
  const errors = [...faults];
  const labels = template?.metadata?.labels;
  const isMatch = given !== undefined && (isEmptySelector(given) || selectorMatches(given, labels ?? {}));
  if (faults.length === 0 && !isMatch) {
    const detail = '`selector` does not match template `labels`';
    errors.push(invalid('spec.template.metadata.labels', labels ?? null, detail));
  }
  if (given !== undefined && isEmptySelector(given)) {
    errors.push(invalid('spec.selector', given, 'empty selector is invalid for daemonset'));
  }
  append(errors, validatePodTemplate(template, 'spec.template'));
  const { restartPolicy = '', activeDeadlineSeconds } = template?.spec ?? {};
  if (restartPolicy !== 'Always') {
    errors.push(unsupported('spec.template.spec.restartPolicy', restartPolicy, ['Always']));
  }
  if (activeDeadlineSeconds !== undefined) {
    const detail = 'activeDeadlineSeconds in DaemonSet is not Supported';
    errors.push(forbidden('spec.template.spec.activeDeadlineSeconds', detail));
  }
  return [
    ...errors,
    ...nonNegative('spec.minReadySeconds', minReadySeconds),
    ...validateUpdateStrategy(updateStrategy, 'spec.updateStrategy'),
    ...nonNegative('spec.revisionHistoryLimit', revisionHistoryLimit),
  ];
}

function validateUpdateStrategy(strategy: DaemonSetUpdateStrategy, path: string): FieldError[] {
  const { type = '', rollingUpdate } = strategy;
  if (type === 'OnDelete') return [];
  if (type !== 'RollingUpdate') return [unsupported(path, printed(strategy), ['RollingUpdate', 'OnDelete'])];
  if (rollingUpdate === undefined) return [required(`${path}.rollingUpdate`)];
  return validateRollingUpdate(rollingUpdate, `${path}.rollingUpdate`);
}

/** As Kubernetes prints it in messages. */
function printed({ type = '', rollingUpdate }: DaemonSetUpdateStrategy) {
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  const rolling = rollingUpdate === undefined ? null : { MaxUnavailable: maxUnavailable, MaxSurge: maxSurge };
  return { Type: type, RollingUpdate: rolling };
}

function validateRollingUpdate(rolling: RollingUpdateDaemonSet, path: string): FieldError[] {
  const { maxUnavailable = 0, maxSurge = 0 } = rolling;
  const errors = [
    ...validateIntOrPercent(maxUnavailable, `${path}.maxUnavailable`),
    ...validateIntOrPercent(maxSurge, `${path}.maxSurge`),
    ...validateAtMostAll(maxUnavailable, `${path}.maxUnavailable`),
    ...validateAtMostAll(maxSurge, `${path}.maxSurge`),
  ];
  const isUnavailable = amountOf(maxUnavailable) !== 0;
  const isSurging = amountOf(maxSurge) !== 0;
  if (isUnavailable && isSurging) {
    errors.push(invalid(`${path}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero'));
  } else if (!isUnavailable && !isSurging) {
    errors.push(required(`${path}.maxUnavailable`, 'cannot be 0 when maxSurge is 0'));
  }
  return errors;
}

function validateUpdate(object: DaemonSet, old: DaemonSet): FieldError[] {
  return equalJson(object.spec?.selector, old.spec?.selector)
    ? []
    : [invalid('spec.selector', object.spec?.selector, IMMUTABLE)];
}

function validateStatus({ status }: DaemonSet, old: DaemonSet): FieldError[] {
  const errors = STATUS_COUNTS.flatMap((field) => nonNegative(`status.${field}`, status?.[field]));
  const collisions = status?.collisionCount ?? 0;
  if (isDecremented(status?.collisionCount, old.status?.collisionCount)) {
    errors.push(invalid('status.collisionCount', collisions, 'cannot be decremented'));
  }
  return errors;
}

function counted(name: string, description: string, value: (status: NonNullable<DaemonSet['status']>) => number) {
  const zero = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
  return column<DaemonSet>(name, description, ({ status }) => value(status ?? zero), { type: 'integer' });
}

export const daemonSets: ResourceDefinition<DaemonSet> = {
  group: 'apps',
  version: 'v1',
  kind: 'DaemonSet',
  resource: 'daemonsets',
  singular: 'daemonset',
  shortNames: ['ds'],
  categories: ['all'],
  namespaced: true,
  schema: 'apps.v1.DaemonSet',
  verbs: STORED_VERBS,
  fieldAnnotations: [TEMPLATE_GENERATION],
  strategy: {
    applyDefaults,
    prepareForCreate,
    prepareForUpdate,
    validate,
    validateUpdate,
    updateRules: 'before',
    metadataOnUpdate: 'change',
    warnings: ({ spec }, old) => templateWarnings(spec?.template, old?.spec?.template, 'spec.template'),
    hasGeneration: true,
  },
  subresources: [
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        keep(object, old, 'spec');
        setTemplateGeneration(object, templateGeneration(old));
      },
      validateUpdate: validateStatus,
    },
  ],
  columns: [
    nameColumn,
    counted('Desired', 'Nodes that should run the pod.', (status) => status.desiredNumberScheduled),
    counted('Current', 'Nodes that run it.', (status) => status.currentNumberScheduled),
    counted('Ready', 'Nodes where it is ready.', (status) => status.numberReady),
    counted('Up-to-date', 'Nodes with the present template.', (status) => status.updatedNumberScheduled ?? 0),
    counted('Available', 'Nodes where it has been ready long enough.', (status) => status.numberAvailable ?? 0),
    column('Node Selector', 'Labels that a node must have.', ({ spec }) =>
      formatLabels(spec?.template?.spec?.nodeSelector),
    ),
    ageColumn,
    ...workloadColumns,
  ],
  selectableFields: {},
  stored: true,
};
