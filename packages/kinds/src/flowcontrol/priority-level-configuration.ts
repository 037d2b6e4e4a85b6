import { append } from '@gantry/base';
import {
  type ExemptPriorityLevelConfiguration,
  type FieldError,
  type LimitResponse,
  type LimitedPriorityLevelConfiguration,
  PRIORITY_LEVEL_CONFIGURATIONS,
  type PriorityLevelConfiguration,
  type PriorityLevelConfigurationSpec,
  type QueuingConfiguration,
  equalJson,
  forbidden,
  invalid,
  required,
} from '@gantry/objects';
import {
  describedAs,
  ageColumn,
  column,
  defineResource,
  nameColumn,
  unsupported,
  fieldColumn,
} from '@gantry/apimachinery';
import { flowStatus, flowStrategy, validateFlowConditions } from './status.ts';
import { MANDATORY_PRIORITY_LEVELS } from './built-in-objects.ts';

const MAX_QUEUES = 10_000_000;
/** Bits of the hash that selects the queues of a flow. */
const MAX_HASH_BITS = 60;
const ROUND_TRIP = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares';

function applyDefaults(object: PriorityLevelConfiguration): void {
  const spec = (object.spec ??= { type: '' });
  const { exempt, limited } = spec;
  if (exempt !== undefined) {
    exempt.nominalConcurrencyShares ??= 0;
    exempt.lendablePercent ??= 0;
  }
  if (limited === undefined) return;
  limited.nominalConcurrencyShares ??= 30;
  limited.lendablePercent ??= 0;
  const queuing = limited.limitResponse?.queuing;
  if (queuing === undefined) return;
  if ((queuing.handSize ?? 0) === 0) queuing.handSize = 8;
  if ((queuing.queues ?? 0) === 0) queuing.queues = 64;
  if ((queuing.queueLengthLimit ?? 0) === 0) queuing.queueLengthLimit = 50;
}

function validate(object: PriorityLevelConfiguration): FieldError[] {
  const name = object.metadata.name ?? '';
  const spec = object.spec ?? { type: '' };
  const errors: FieldError[] = [];
  if (object.metadata.annotations?.[ROUND_TRIP] !== undefined) {
    errors.push(forbidden('metadata.annotations', `annotation '${ROUND_TRIP}' is forbidden`));
  }
  append(errors, [...validateSpec(spec, name), ...validateMandatory(spec, name)]);
  return [...errors, ...validateFlowConditions(object.status?.conditions)];
}

function validateMandatory(spec: PriorityLevelConfigurationSpec, name: string): FieldError[] {
  const fixed = MANDATORY_PRIORITY_LEVELS.find(({ metadata }) => metadata.name === name)?.spec;
  if (fixed === undefined) return [];
  if (name !== 'exempt') {
    return equalJson(spec, fixed) ? [] : [invalid('spec', spec, `spec of '${name}' must equal the fixed value`)];
  }
  const { exempt: _, ...rest } = spec;
  const { exempt: _fixed, ...wanted } = fixed;
  const detail = `spec of '${name}' except the 'spec.exempt' field must equal the fixed value`;
  return equalJson(rest, wanted) ? [] : [invalid('spec', spec, detail)];
}

function validateSpec(spec: PriorityLevelConfigurationSpec, name: string): FieldError[] {
  const { type = '', exempt, limited } = spec;
  const errors: FieldError[] = [];
  if ((name === 'exempt') !== (type === 'Exempt')) {
    errors.push(invalid('spec.type', type, "must be 'Exempt' if and only if `name` is 'exempt'"));
  }
  switch (type) {
    case 'Exempt':
      if (limited !== undefined) {
        errors.push(forbidden('spec.limited', 'must be nil if the type is not Limited'));
      }
      return exempt === undefined ? errors : [...errors, ...validateExempt(exempt)];
    case 'Limited':
      if (exempt !== undefined) errors.push(forbidden('spec.exempt', 'must be nil if the type is Limited'));
      return limited === undefined
        ? [...errors, required('spec.limited', 'must not be empty when type is Limited')]
        : [...errors, ...validateLimited(limited)];
    default:
      return [...errors, unsupported('spec.type', type, ['Exempt', 'Limited'])];
  }
}

function validateShares(shares: number | undefined, path: string): FieldError[] {
  const refused = shares !== undefined && shares < 0;
  return refused ? [invalid(`${path}.nominalConcurrencyShares`, shares, 'must be a non-negative integer')] : [];
}

function validateLendable(percent: number | undefined, path: string): FieldError[] {
  const refused = percent !== undefined && (percent < 0 || percent > 100);
  return refused ? [invalid(`${path}.lendablePercent`, percent, 'must be between 0 and 100, inclusive')] : [];
}

function validateExempt({ nominalConcurrencyShares, lendablePercent }: ExemptPriorityLevelConfiguration): FieldError[] {
  return [
    ...validateShares(nominalConcurrencyShares, 'spec.exempt'),
    ...validateLendable(lendablePercent, 'spec.exempt'),
  ];
}

function validateLimited(limited: LimitedPriorityLevelConfiguration): FieldError[] {
  const { nominalConcurrencyShares, limitResponse, lendablePercent, borrowingLimitPercent } = limited;
  const errors = [
    ...validateShares(nominalConcurrencyShares, 'spec.limited'),
    ...validateResponse(limitResponse ?? { type: '' }, 'spec.limited.limitResponse'),
    ...validateLendable(lendablePercent, 'spec.limited'),
  ];
  if (borrowingLimitPercent !== undefined && borrowingLimitPercent < 0) {
    const detail = 'if specified, must be a non-negative integer';
    errors.push(invalid('spec.limited.borrowingLimitPercent', borrowingLimitPercent, detail));
  }
  return errors;
}

function validateResponse({ type = '', queuing }: LimitResponse, path: string): FieldError[] {
  switch (type) {
    case 'Reject':
      return queuing === undefined
        ? []
        : [forbidden(`${path}.queuing`, 'must be nil if limited.limitResponse.type is not Limited')];
    case 'Queue':
      return queuing === undefined
        ? [required(`${path}.queuing`, 'must not be empty if limited.limitResponse.type is Limited')]
        : validateQueuing(queuing, `${path}.queuing`);
    default:
      return [unsupported(`${path}.type`, type, ['Queue', 'Reject'])];
  }
}

function validateQueuing(queuing: QueuingConfiguration, path: string): FieldError[] {
  const { queueLengthLimit = 0, queues = 0, handSize = 0 } = queuing;
  const errors: FieldError[] = [];
  const refuse = (field: string, value: number, detail: string) =>
    errors.push(invalid(`${path}.${field}`, value, detail));
  if (queueLengthLimit <= 0) refuse('queueLengthLimit', queueLengthLimit, 'must be positive');
  if (queues <= 0) refuse('queues', queues, 'must be positive');
  else if (queues > MAX_QUEUES) refuse('queues', queues, `must not be greater than ${MAX_QUEUES}`);
  if (handSize <= 0) refuse('handSize', handSize, 'must be positive');
  else if (handSize > queues) refuse('handSize', handSize, `should not be greater than queues (${queues})`);
  else if (entropyBits(queues, handSize) > MAX_HASH_BITS) {
    const detail = `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${MAX_HASH_BITS}`;
    refuse('handSize', handSize, detail);
  }
  return errors;
}

/** The number of hash bits that are needed to select every possible hand of queues. */
function entropyBits(deckSize: number, handSize: number): number {
  return Math.ceil(Math.log2(deckSize) * handSize);
}

function ofQueues(field: 'queues' | 'handSize' | 'queueLengthLimit') {
  return ({ spec }: PriorityLevelConfiguration): string | number =>
    spec?.limited?.limitResponse?.queuing?.[field] ?? '<none>';
}

export const priorityLevelConfigurations = defineResource(PRIORITY_LEVEL_CONFIGURATIONS, {
  schema: 'flowcontrol.v1.PriorityLevelConfiguration',
  strategy: { ...flowStrategy, applyDefaults, validate },
  subresources: [flowStatus],
  columns: [
    nameColumn,
    fieldColumn('Type', 'flowcontrol.v1.PriorityLevelConfigurationSpec', 'spec.type'),
    fieldColumn(
      'NominalConcurrencyShares',
      'flowcontrol.v1.LimitedPriorityLevelConfiguration',
      'spec.limited.nominalConcurrencyShares',
      { none: '<none>' },
    ),
    column('Queues', describedAs('flowcontrol.v1.QueuingConfiguration', 'queues'), ofQueues('queues')),
    column('HandSize', describedAs('flowcontrol.v1.QueuingConfiguration', 'handSize'), ofQueues('handSize')),
    column(
      'QueueLengthLimit',
      describedAs('flowcontrol.v1.QueuingConfiguration', 'queueLengthLimit'),
      ofQueues('queueLengthLimit'),
    ),
    ageColumn,
  ],
});
