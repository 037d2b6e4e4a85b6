import { append } from '@gantry/base';
import {
  FLOW_SCHEMAS,
  type FieldError,
  type FlowSchema,
  type FlowSchemaSpec,
  type FlowcontrolSubject,
  type PolicyRulesWithSubjects,
  dns1123Label,
  dns1123Subdomain,
  equalJson,
  forbidden,
  invalid,
  required,
} from '@gantry/objects';
import {
  ageColumn,
  column,
  defineResource,
  invalidAll,
  nameColumn,
  unsupported,
  fieldColumn,
} from '@gantry/apimachinery';
import { flowStatus, flowStrategy, validateFlowConditions } from './status.ts';
import { MANDATORY_FLOW_SCHEMAS } from './built-in-objects.ts';
import { validateFlowPaths, validateFlowResources } from './rules.ts';

const DEFAULT_PRECEDENCE = 1000;
const MAX_PRECEDENCE = 10000;

function applyDefaults(object: FlowSchema): void {
  const spec = (object.spec ??= {} as FlowSchemaSpec);
  if ((spec.matchingPrecedence ?? 0) === 0) spec.matchingPrecedence = DEFAULT_PRECEDENCE;
}

function validate(object: FlowSchema): FieldError[] {
  const spec = object.spec ?? ({} as FlowSchemaSpec);
  const name = object.metadata.name ?? '';
  const errors = validateSpec(spec, name);
  const fixed = MANDATORY_FLOW_SCHEMAS.find(({ metadata }) => metadata.name === name);
  if (fixed !== undefined && !equalJson(spec, fixed.spec)) {
    errors.push(invalid('spec', spec, `spec of '${name}' must equal the fixed value`));
  }
  return [...errors, ...validateFlowConditions(object.status?.conditions)];
}

function validateSpec(spec: FlowSchemaSpec, name: string): FieldError[] {
  const { matchingPrecedence = 0, distinguisherMethod, priorityLevelConfiguration, rules = [] } = spec;
  const errors: FieldError[] = [];
  const refuse = (detail: string) => errors.push(invalid('spec.matchingPrecedence', matchingPrecedence, detail));
  if (matchingPrecedence <= 0) refuse('must be a positive value');
  if (matchingPrecedence > MAX_PRECEDENCE) refuse(`must not be greater than ${MAX_PRECEDENCE}`);
  if (matchingPrecedence === 1 && name !== 'exempt') {
    refuse("only the schema named 'exempt' may have matchingPrecedence 1");
  }
  if (distinguisherMethod !== undefined && !['ByNamespace', 'ByUser'].includes(distinguisherMethod.type ?? '')) {
    const printed = { Type: distinguisherMethod.type ?? '' };
    errors.push(unsupported('spec.distinguisherMethod.type', printed, ['ByNamespace', 'ByUser']));
  }
  const level = priorityLevelConfiguration?.name ?? '';
  const path = 'spec.priorityLevelConfiguration.name';
  if (level === '') errors.push(required(path, 'must reference a priority level'));
  else append(errors, invalidAll(path, level, dns1123Subdomain(level)));
  return [...errors, ...rules.flatMap((rule, i) => validateRule(rule, `spec.rules[${i}]`))];
}

function validateRule(rule: PolicyRulesWithSubjects, path: string): FieldError[] {
  const { resourceRules = [], nonResourceRules = [] } = rule;
  const subjects = (rule.subjects as FlowcontrolSubject[] | null | undefined) ?? [];
  const errors = subjects.flatMap((subject, i) => validateSubject(subject, `${path}.subjects[${i}]`));
  if (subjects.length === 0) errors.push(required(`${path}.subjects`, 'subjects must contain at least one value'));
  if (resourceRules.length + nonResourceRules.length === 0) {
    errors.push(required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty'));
  }
  return [
    ...errors,
    ...resourceRules.flatMap((one, i) => validateFlowResources(one, `${path}.resourceRules[${i}]`)),
    ...nonResourceRules.flatMap((one, i) => validateFlowPaths(one, `${path}.nonResourceRules[${i}]`)),
  ];
}

const SUBJECT_FIELDS = { ServiceAccount: 'serviceAccount', User: 'user', Group: 'group' } as const;

function validateSubject(subject: FlowcontrolSubject, path: string): FieldError[] {
  const kind = subject.kind ?? '';
  const own = Object.hasOwn(SUBJECT_FIELDS, kind) ? SUBJECT_FIELDS[kind as keyof typeof SUBJECT_FIELDS] : undefined;
  if (own === undefined) return [unsupported(`${path}.kind`, kind, ['Group', 'ServiceAccount', 'User'])];
  const errors: FieldError[] = [];
  if (subject[own] === undefined) {
    errors.push(required(`${path}.${own}`, `${own} is required when subject kind is '${kind}'`));
  } else if (own === 'serviceAccount') append(errors, validateAccount(subject, `${path}.${own}`));
  else if ((subject[own]?.name ?? '') === '') errors.push(required(`${path}.${own}.name`));
  const kinds: readonly (keyof typeof SUBJECT_FIELDS)[] = ['ServiceAccount', 'User', 'Group'];
  const others = kinds.filter((other) => other !== kind);
  for (const other of others) {
    const field = SUBJECT_FIELDS[other];
    if (subject[field] === undefined) continue;
    errors.push(forbidden(`${path}.${field}`, `${field} is forbidden when subject kind is not '${other}'`));
  }
  return errors;
}

function validateAccount({ serviceAccount }: FlowcontrolSubject, path: string): FieldError[] {
  const { name = '', namespace = '' } = serviceAccount ?? {};
  const errors: FieldError[] = [];
  if (name === '') errors.push(required(`${path}.name`));
  else if (name !== '*') append(errors, invalidAll(`${path}.name`, name, dns1123Subdomain(name)));
  if (namespace === '') errors.push(required(`${path}.namespace`, 'must specify namespace for service account'));
  else append(errors, invalidAll(`${path}.namespace`, namespace, dns1123Label(namespace)));
  return errors;
}

export const flowSchemas = defineResource(FLOW_SCHEMAS, {
  schema: 'flowcontrol.v1.FlowSchema',
  strategy: { ...flowStrategy, applyDefaults, validate },
  subresources: [flowStatus],
  columns: [
    nameColumn,
    fieldColumn(
      'PriorityLevel',
      'flowcontrol.v1.PriorityLevelConfigurationReference',
      'spec.priorityLevelConfiguration.name',
    ),
    fieldColumn('MatchingPrecedence', 'flowcontrol.v1.FlowSchemaSpec', 'spec.matchingPrecedence', { none: 0 }),
    column(
      'DistinguisherMethod',
      '`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema. `nil` specifies that the distinguisher is disabled and thus will always be the empty string.',
      ({ spec }) => spec?.distinguisherMethod?.type ?? '<none>',
    ),
    ageColumn,
    column(
      'MissingPL',
      'references a broken or non-existent PriorityLevelConfiguration',
      ({ status }) => (status?.conditions ?? []).find(({ type }) => type === 'Dangling')?.status ?? '?',
    ),
  ],
});
