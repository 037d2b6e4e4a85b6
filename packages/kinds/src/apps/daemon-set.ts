import { append } from '@gantry/base';
import {
  DAEMON_SETS,
  type DaemonSet,
  type DaemonSetUpdateStrategy,
  type FieldError,
  type RollingUpdateDaemonSet,
  StatusError,
  equalJson,
  forbidden,
  invalid,
  required,
} from '@gantry/objects';
import {
  describedAs,
  IMMUTABLE,
  PART_VERBS,
  ageColumn,
  column,
  defineResource,
  isEmptySelector,
  nameColumn,
  nonNegative,
  selectorMatches,
  unsupported,
  validateLabelSelector,
} from '@gantry/apimachinery';
import { amountOf, validateAtMostAll, validateIntOrPercent } from '../fields/int-or-percent.ts';
import { restoreField } from '../fields/status.ts';
import { defaultPodTemplate } from '../pod-spec/defaults.ts';
import { validatePodTemplate } from '../pod-spec/template.ts';
import { isDecremented } from '../workloads/replica-counts.ts';
import { templateWarnings } from '../pod-spec/warnings.ts';
import { formatLabels, workloadColumns } from '../workloads/columns.ts';

/** The annotation with the template's generation, for clients of versions that had a field for it. */
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

/** The server alone sets the template's generation: it grows with each change of the template. */
function prepareForUpdate(object: DaemonSet, old: DaemonSet): void {
  restoreField(object, old, 'status');
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

type Count =
  | 'currentNumberScheduled'
  | 'desiredNumberScheduled'
  | 'numberAvailable'
  | 'numberReady'
  | 'updatedNumberScheduled';

/** A column that shows a count of the status. */
function counted(name: string, field: Count) {
  return column<DaemonSet>(name, describedAs('apps.v1.DaemonSetStatus', field), ({ status }) => status?.[field] ?? 0, {
    type: 'integer',
  });
}

export const daemonSets = defineResource(DAEMON_SETS, {
  shortNames: ['ds'],
  categories: ['all'],
  schema: 'apps.v1.DaemonSet',
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
        restoreField(object, old, 'spec');
        setTemplateGeneration(object, templateGeneration(old));
      },
      validateUpdate: validateStatus,
    },
  ],
  podTemplate: ({ spec }) => spec?.template,
  columns: [
    nameColumn,
    counted('Desired', 'desiredNumberScheduled'),
    counted('Current', 'currentNumberScheduled'),
    counted('Ready', 'numberReady'),
    counted('Up-to-date', 'updatedNumberScheduled'),
    counted('Available', 'numberAvailable'),
    column('Node Selector', describedAs('core.v1.PodSpec', 'nodeSelector'), ({ spec }) =>
      formatLabels(spec?.template?.spec?.nodeSelector),
    ),
    ageColumn,
    ...workloadColumns(
      "A label query over pods that are managed by the daemon set. Must match in order to be controlled. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
    ),
  ],
});
