import { append } from '@gantry/base';
import {
  type FieldError,
  type PersistentVolumeClaim,
  type PodSpec,
  STATEFUL_SETS,
  type StatefulSet,
  type StatefulSetSpec,
  cloneJson,
  dns1123Label,
  equalJson,
  forbidden,
  invalid,
  labelName,
  required,
} from '@gantry/objects';
import {
  ageColumn,
  defineResource,
  invalidAll,
  isEmptySelector,
  nameColumn,
  nonNegative,
  selectorMatches,
  unsupported,
  validateAnnotations,
  validateLabelSelector,
  validateLabels,
} from '@gantry/apimachinery';
import { defaultClaimSpec, validateClaimSpec } from '../core/volumes/claim-spec.ts';
import { amountOf, validateAtMostAll, validateIntOrPercent } from '../fields/int-or-percent.ts';
import { restoreField, statusSubresource } from '../fields/status.ts';
import { defaultPodTemplate } from '../pod-spec/defaults.ts';
import { validatePodTemplate } from '../pod-spec/template.ts';
import { isDecremented } from '../workloads/replica-counts.ts';
import { templateWarnings } from '../pod-spec/warnings.ts';
import { claimSpecWarnings } from '../pod-spec/volume-warnings.ts';
import { scaleOfSelector } from '../workloads/scale-subresource.ts';
import { readyColumn, templateColumns } from '../workloads/columns.ts';

const CLAIM_POLICIES = ['Delete', 'Retain'];
const CHANGEABLE = [
  'replicas',
  'template',
  'updateStrategy',
  'minReadySeconds',
  'ordinals',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
] as const;
const FIXED =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
const STATUS_COUNTS = [
  'replicas',
  'readyReplicas',
  'currentReplicas',
  'updatedReplicas',
  'availableReplicas',
  'observedGeneration',
  'collisionCount',
] as const;
const STATUS_PARTS = ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'] as const;

function applyDefaults(object: StatefulSet): void {
  const spec = (object.spec ??= { selector: {}, template: {} });
  if ((spec.podManagementPolicy ?? '') === '') spec.podManagementPolicy = 'OrderedReady';
  const strategy = (spec.updateStrategy ??= {});
  if ((strategy.type ?? '') === '') {
    strategy.type = 'RollingUpdate';
    strategy.rollingUpdate ??= {};
  }
  if (strategy.type === 'RollingUpdate' && strategy.rollingUpdate !== undefined) strategy.rollingUpdate.partition ??= 0;
  const retention = (spec.persistentVolumeClaimRetentionPolicy ??= {});
  if ((retention.whenDeleted ?? '') === '') retention.whenDeleted = 'Retain';
  if ((retention.whenScaled ?? '') === '') retention.whenScaled = 'Retain';
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  for (const claim of spec.volumeClaimTemplates ?? []) defaultClaim(claim);
  defaultPodTemplate(spec.template);
}

function defaultClaim(claim: PersistentVolumeClaim): void {
  claim.apiVersion = 'v1';
  claim.kind = 'PersistentVolumeClaim';
  defaultClaimSpec((claim.spec ??= {}));
  const status = (claim.status ??= {});
  if ((status.phase ?? '') === '') status.phase = 'Pending';
}

/** Drops `maxUnavailable`: its feature gate is off in the release that we serve. */
function dropGated(object: StatefulSet, old: StatefulSet | undefined): void {
  const rolling = object.spec?.updateStrategy?.rollingUpdate;
  if (rolling !== undefined && old?.spec?.updateStrategy?.rollingUpdate?.maxUnavailable === undefined) {
    delete rolling.maxUnavailable;
  }
}

interface SpecRules {
  /** For stored sets: fields that cannot be changed any more are not checked. */
  readonly stored: boolean;
  readonly template: 'checked' | 'trusted';
}

function validateSpec(spec: Partial<StatefulSetSpec>, rules: SpecRules): FieldError[] {
  const { podManagementPolicy: management = '', persistentVolumeClaimRetentionPolicy: retention } = spec;
  const errors: FieldError[] = [];
  if (management === '') errors.push(required('spec.podManagementPolicy'));
  else if (management !== 'OrderedReady' && management !== 'Parallel') {
    errors.push(invalid('spec.podManagementPolicy', management, "must be 'OrderedReady' or 'Parallel'"));
  }
  append(errors, validateUpdateStrategy(spec));
  for (const field of retention === undefined ? [] : (['whenDeleted', 'whenScaled'] as const)) {
    const policy = retention?.[field] ?? '';
    if (CLAIM_POLICIES.includes(policy)) continue;
    const path = `spec.persistentVolumeClaimRetentionPolicy.${field}`;
    errors.push(unsupported(path, policy, ['Retain', 'Delete']));
  }
  if (!rules.stored) {
    (spec.volumeClaimTemplates ?? []).forEach((claim, i) => {
      append(errors, validateClaimSpec(claim.spec ?? {}, `spec.volumeClaimTemplates[${i}].spec`));
    });
  }
  append(errors, nonNegative('spec.replicas', spec.replicas));
  append(errors, nonNegative('spec.minReadySeconds', spec.minReadySeconds));
  append(errors, nonNegative('spec.ordinals.start', spec.ordinals?.start));
  const service = spec.serviceName ?? '';
  if (!rules.stored && service !== '') append(errors, invalidAll('spec.serviceName', service, dns1123Label(service)));
  append(errors, validateSelectorAndTemplate(spec, rules));
  const { restartPolicy = '', activeDeadlineSeconds } = spec.template?.spec ?? {};
  if (restartPolicy !== 'Always') {
    errors.push(unsupported('spec.template.spec.restartPolicy', restartPolicy, ['Always']));
  }
  if (activeDeadlineSeconds !== undefined) {
    const detail = 'activeDeadlineSeconds in StatefulSet is not Supported';
    errors.push(forbidden('spec.template.spec.activeDeadlineSeconds', detail));
  }
  return errors;
}

function validateUpdateStrategy({ updateStrategy }: Partial<StatefulSetSpec>): FieldError[] {
  const path = 'spec.updateStrategy';
  const { type = '', rollingUpdate } = updateStrategy ?? {};
  const { partition = 0, maxUnavailable } = rollingUpdate ?? {};
  const printed = rollingUpdate === undefined ? null : { Partition: partition, MaxUnavailable: maxUnavailable ?? null };
  switch (type) {
    case '':
      return [required(path)];
    case 'OnDelete':
      return printed === null
        ? []
        : [invalid(`${path}.rollingUpdate`, printed, "only allowed for updateStrategy 'RollingUpdate'")];
    case 'RollingUpdate':
      return [
        ...nonNegative(`${path}.rollingUpdate.partition`, partition),
        ...validateMaxUnavailable(maxUnavailable, `${path}.rollingUpdate.maxUnavailable`),
      ];
    default:
      return [invalid(path, { Type: type, RollingUpdate: printed }, "must be 'RollingUpdate' or 'OnDelete'")];
  }
}

function validateMaxUnavailable(value: number | string | undefined, path: string): FieldError[] {
  if (value === undefined) return [];
  const errors = validateIntOrPercent(value, path);
  if (amountOf(value) === 0) errors.push(invalid(path, value, 'cannot be 0'));
  return [...errors, ...validateAtMostAll(value, path)];
}

function validateSelectorAndTemplate(spec: Partial<StatefulSetSpec>, rules: SpecRules): FieldError[] {
  const selector = spec.selector ?? undefined;
  const { template } = spec;
  const faults = validateLabelSelector(selector, 'spec.selector');
  const errors = selector === undefined ? [required('spec.selector')] : [...faults];
  if (selector !== undefined && isEmptySelector(selector)) {
    errors.push(invalid('spec.selector', selector, 'empty selector is invalid for statefulset'));
  }
  if (faults.length > 0) return [...errors, invalid('spec.selector', selector, '')];
  const { labels, annotations } = template?.metadata ?? {};
  // A missing selector counts as one that does not match; an empty one is reported above.
  const isMatch = selector !== undefined && (isEmptySelector(selector) || selectorMatches(selector, labels ?? {}));
  if (!isMatch) {
    const detail = '`selector` does not match template `labels`';
    errors.push(invalid('spec.template.metadata.labels', labels ?? null, detail));
  }
  if (rules.template === 'checked') {
    const podSpec = asMade(template?.spec ?? { containers: [] }, spec.volumeClaimTemplates ?? []);
    append(errors, validatePodTemplate({ ...template, spec: podSpec }, 'spec.template'));
  }
  // Kubernetes checks them twice.
  append(errors, validateLabels(labels, 'spec.template.labels'));
  append(errors, validateAnnotations(annotations, 'spec.template.annotations'));
  return errors;
}

/** The spec as the controller creates it: with generated names, and a volume per claim. */
function asMade(spec: PodSpec, claims: readonly PersistentVolumeClaim[]): PodSpec {
  const { subdomain: _, hostname: __, ...rest } = spec;
  if (claims.length === 0) return rest;
  const names = new Set(claims.map((claim) => claim.metadata?.name ?? ''));
  return {
    ...rest,
    volumes: [
      ...[...names].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
      ...(spec.volumes ?? []).filter(({ name }) => !names.has(name)),
    ],
  };
}

function validateUpdate(object: StatefulSet, old: StatefulSet): FieldError[] {
  const spec: Partial<StatefulSetSpec> = object.spec ?? {};
  const before: Partial<StatefulSetSpec> = old.spec ?? {};
  const wasValid = validateSpec(before, { stored: true, template: 'checked' }).length === 0;
  const errors = validateSpec(spec, { stored: true, template: wasValid ? 'checked' : 'trusted' });
  const munged: Record<string, unknown> = cloneJson({ ...spec });
  for (const field of CHANGEABLE) munged[field] = before[field];
  return equalJson(munged, before) ? errors : [...errors, forbidden('spec', FIXED)];
}

function validateStatus({ status }: StatefulSet, old: StatefulSet): FieldError[] {
  const errors = STATUS_COUNTS.flatMap((field) => nonNegative(`status.${field}`, status?.[field]));
  for (const field of STATUS_PARTS) {
    const value = status?.[field] ?? 0;
    if (value > (status?.replicas ?? 0)) {
      errors.push(invalid(`status.${field}`, value, 'cannot be greater than status.replicas'));
    }
  }
  const available = status?.availableReplicas ?? 0;
  if (available > (status?.readyReplicas ?? 0)) {
    errors.push(invalid('status.availableReplicas', available, 'cannot be greater than status.readyReplicas'));
  }
  const collisions = status?.collisionCount ?? 0;
  if (isDecremented(status?.collisionCount, old.status?.collisionCount)) {
    errors.push(invalid('status.collisionCount', collisions, 'cannot be decremented'));
  }
  return errors;
}

function warnings({ spec }: StatefulSet, old?: StatefulSet): string[] {
  const texts = templateWarnings(spec?.template, old?.spec?.template, 'spec.template');
  (spec?.volumeClaimTemplates ?? []).forEach((claim, i) => {
    // The path in updates is Kubernetes' own.
    append(texts, claimSpecWarnings(claim.spec, `spec.volumeClaimTemplates[${i}]${old === undefined ? '' : '.Spec'}`));
  });
  if ((spec?.revisionHistoryLimit ?? 0) < 0) {
    texts.push(
      'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
    );
  }
  return texts;
}

export const statefulSets = defineResource(STATEFUL_SETS, {
  shortNames: ['sts'],
  categories: ['all'],
  schema: 'apps.v1.StatefulSet',
  strategy: {
    validateName: labelName,
    applyDefaults,
    prepareForCreate: (object) => {
      object.status = { replicas: 0 };
      dropGated(object, undefined);
    },
    prepareForUpdate: (object, old) => {
      restoreField(object, old, 'status');
      dropGated(object, old);
    },
    validateCreate: ({ spec }) => validateSpec(spec ?? {}, { stored: false, template: 'checked' }),
    validateUpdate,
    metadataOnUpdate: 'change',
    warnings,
    hasGeneration: true,
  },
  subresources: [scaleOfSelector, statusSubresource(validateStatus)],
  podTemplate: ({ spec }) => spec?.template,
  columns: [nameColumn, readyColumn, ageColumn, ...templateColumns],
});
