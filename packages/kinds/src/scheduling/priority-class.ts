import { type FieldError, PRIORITY_CLASSES, type PriorityClass, forbidden, invalid, required } from '@gantry/objects';
import { IMMUTABLE, ageColumn, defineResource, nameColumn, unsupported, fieldColumn } from '@gantry/apimachinery';

const SYSTEM_PREFIX = 'system-';
const HIGHEST_USER_VALUE = 1_000_000_000;

/** Kubernetes' system priorities: they exist in every cluster with exactly these values. */
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

/** The value of a class is immutable: pods copy it at creation. */
function validateUpdate(object: PriorityClass, old: PriorityClass): FieldError[] {
  const errors: FieldError[] = [];
  if ((object.value ?? 0) !== (old.value ?? 0)) errors.push(forbidden('value', 'may not be changed in an update.'));
  if (object.preemptionPolicy !== old.preemptionPolicy) {
    errors.push(invalid('preemptionPolicy', object.preemptionPolicy ?? null, IMMUTABLE));
  }
  return errors;
}

export const priorityClasses = defineResource(PRIORITY_CLASSES, {
  shortNames: ['pc'],
  schema: 'scheduling.v1.PriorityClass',
  strategy: {
    applyDefaults: (object) => {
      object.preemptionPolicy ??= 'PreemptLowerPriority';
    },
    // The generation never grows, because the value never changes.
    prepareForCreate: (object) => {
      object.metadata.generation = 1;
    },
    validateCreate,
    validateUpdate,
    metadataOnUpdate: 'change',
  },
  columns: [
    nameColumn,
    fieldColumn('Value', 'scheduling.v1.PriorityClass', 'value', { none: 0, type: 'integer' }),
    fieldColumn('Global-Default', 'scheduling.v1.PriorityClass', 'globalDefault', { none: false, type: 'boolean' }),
    ageColumn,
    fieldColumn('PreemptionPolicy', 'scheduling.v1.PriorityClass', 'preemptionPolicy'),
  ],
});
