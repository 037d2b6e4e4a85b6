import { type FieldError, forbidden, invalid, required } from '../field-error.ts';
import type { PriorityClass } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { IMMUTABLE, unsupported } from './rules/errors.ts';
import { STORED_VERBS } from './verbs.ts';

const SYSTEM_PREFIX = 'system-';
const HIGHEST_USER_VALUE = 1_000_000_000;

/** The priorities that Kubernetes itself gives out: they exist in every cluster, with these values and no others. */
export const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
};

function validateCreate(object: PriorityClass): FieldError[] {
  const errors: FieldError[] = [];
  const { metadata, value = 0, preemptionPolicy } = object;
  if (metadata.name?.startsWith(SYSTEM_PREFIX)) {
    const fault = systemFault(object, metadata.name);
    const reserved = `priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only. error: `;
    if (fault !== undefined) errors.push(forbidden('metadata.name', `${reserved}${fault}`));
  } else if (value > HIGHEST_USER_VALUE) {
    errors.push(forbidden('value', `maximum allowed value of a user defined priority is ${HIGHEST_USER_VALUE}`));
  }
  if (preemptionPolicy === '') errors.push(required('preemptionPolicy'));
  else if (preemptionPolicy !== undefined && !['PreemptLowerPriority', 'Never'].includes(preemptionPolicy)) {
    errors.push(unsupported('preemptionPolicy', preemptionPolicy, ['PreemptLowerPriority', 'Never']));
  }
  return errors;
}

function systemFault({ value = 0, globalDefault = false }: PriorityClass, name: string): string | undefined {
  const wanted = SYSTEM_PRIORITIES[name];
  if (wanted === undefined) return `${name} is not a known system priority class`;
  if (value !== wanted) return `value of ${name} PriorityClass must be ${wanted}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

/** Pods carry the value of their class from their creation on, so a class keeps what it means. */
function validateUpdate(object: PriorityClass, old: PriorityClass): FieldError[] {
  const errors: FieldError[] = [];
  if ((object.value ?? 0) !== (old.value ?? 0)) errors.push(forbidden('value', 'may not be changed in an update.'));
  if (object.preemptionPolicy !== old.preemptionPolicy) {
    errors.push(invalid('preemptionPolicy', object.preemptionPolicy ?? null, IMMUTABLE));
  }
  return errors;
}

export const priorityClasses: ResourceDefinition<PriorityClass> = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  kind: 'PriorityClass',
  resource: 'priorityclasses',
  singular: 'priorityclass',
  shortNames: ['pc'],
  categories: [],
  namespaced: false,
  schema: 'scheduling.v1.PriorityClass',
  verbs: STORED_VERBS,
  strategy: {
    applyDefaults: (object) => {
      object.preemptionPolicy ??= 'PreemptLowerPriority';
    },
    // It is never raised: what it would count, the value, never changes.
    prepareForCreate: (object) => {
      object.metadata.generation = 1;
    },
    validateCreate,
    validateUpdate,
    metadataOnUpdate: 'change',
  },
  subresources: [],
  columns: [
    nameColumn,
    column('Value', 'The priority of pods of this class.', ({ value }) => value ?? 0, { type: 'integer' }),
    column(
      'Global-Default',
      'Whether pods without a class get this one.',
      ({ globalDefault }) => globalDefault ?? false,
      {
        type: 'boolean',
      },
    ),
    ageColumn,
    column('PreemptionPolicy', 'Whether its pods may displace others.', (object) => object.preemptionPolicy ?? ''),
  ],
  selectableFields: {},
  stored: true,
};
