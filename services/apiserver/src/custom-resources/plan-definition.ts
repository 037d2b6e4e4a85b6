import { CUSTOM_RESOURCE_CLEANUP, approvalOf, definitionCondition, setDefinitionCondition } from '@gantry/kinds';
import { APPROVAL_ANNOTATION, type CustomResourceDefinition, equalJson } from '@gantry/objects';
import type { Instant } from '@gantry/base';

type Names = NonNullable<NonNullable<CustomResourceDefinition['status']>['acceptedNames']>;
type Status = NonNullable<CustomResourceDefinition['status']>;
type Condition = NonNullable<Status['conditions']>[number];

/** An action for a definition. */
export type DefinitionAction =
  | { readonly kind: 'write-status'; readonly status: Status }
  /** Delete the objects, then remove the finalizer of the definition. */
  | { readonly kind: 'clean-up' };

/** Plans the next action for a definition, given the other definitions. After the action, planning again yields none. Pure. */
export function planDefinition(
  crd: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
  now: Instant,
): DefinitionAction | undefined {
  if (crd.metadata.deletionTimestamp !== undefined) {
    return (crd.metadata.finalizers ?? []).includes(CUSTOM_RESOURCE_CLEANUP) ? { kind: 'clean-up' } : undefined;
  }
  const status = planStatus(crd, others, now);
  return equalJson(status, crd.status ?? {}) ? undefined : { kind: 'write-status', status };
}

function planStatus(crd: CustomResourceDefinition, others: readonly CustomResourceDefinition[], now: Instant): Status {
  const { acceptedNames, condition } = acceptNames(crd, others);
  let conditions = setDefinitionCondition(crd.status?.conditions ?? [], condition, now);
  const established = definitionCondition(crd, 'Established');
  if (established?.status !== 'True') {
    conditions = setDefinitionCondition(conditions, establishedCondition(condition.status === 'True'), now);
  }
  const approval = approvalCondition(crd);
  if (approval !== undefined) conditions = setDefinitionCondition(conditions, approval, now);
  return { ...crd.status, conditions, acceptedNames };
}

function establishedCondition(isAccepted: boolean): Condition {
  return isAccepted
    ? {
        type: 'Established',
        status: 'True',
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
      }
    : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
}

/** Accepts names. A name stays with the definition that got it first. All other names are accepted as requested. */
function acceptNames(
  crd: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
): { acceptedNames: Names; condition: Condition } {
  const taken = others.filter(({ spec }) => spec.group === crd.spec.group).map(({ status }) => status?.acceptedNames);
  const resources = new Set(taken.flatMap((one) => [one?.plural, one?.singular, ...(one?.shortNames ?? [])]));
  const kinds = new Set(taken.flatMap((one) => [one?.kind, one?.listKind]));
  const { names } = crd.spec;
  const accepted = crd.status?.acceptedNames ?? { kind: '', plural: '' };
  const next: Names = { ...accepted };
  let conflict: { reason: string; message: string } | undefined;
  const give = (field: 'plural' | 'singular' | 'kind' | 'listKind', used: ReadonlySet<unknown>, reason: string) => {
    const wanted = names[field] ?? '';
    if (wanted !== (accepted[field] ?? '') && used.has(wanted)) conflict = { reason, message: inUse(wanted) };
    else if (names[field] !== undefined) next[field] = wanted;
  };
  give('plural', resources, 'PluralConflict');
  give('singular', resources, 'SingularConflict');
  const own = new Set(accepted.shortNames ?? []);
  const used = (names.shortNames ?? []).filter((name) => !own.has(name) && resources.has(name)).map(inUse);
  if (used.length > 0) {
    const message = used.length === 1 ? (used[0] ?? '') : `[${used.join(', ')}]`;
    conflict = { reason: 'ShortNamesConflict', message };
  } else copyList(next, names, 'shortNames');
  give('kind', kinds, 'KindConflict');
  give('listKind', kinds, 'ListKindConflict');
  copyList(next, names, 'categories');
  const condition: Condition =
    conflict === undefined
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : { type: 'NamesAccepted', status: 'False', ...conflict };
  return { acceptedNames: next, condition };
}

function inUse(name: string): string {
  return `${JSON.stringify(name)} is already in use`;
}

function copyList(to: Names, from: Names, field: 'shortNames' | 'categories'): void {
  const list = from[field];
  if (list === undefined) delete to[field];
  else to[field] = list;
}

function approvalCondition(crd: CustomResourceDefinition): Condition | undefined {
  const approval = approvalOf(crd);
  const type = 'KubernetesAPIApprovalPolicyConformant';
  const value = crd.metadata.annotations?.[APPROVAL_ANNOTATION] ?? '';
  switch (approval) {
    case undefined:
      return undefined;
    case 'approved':
      return { type, status: 'True', reason: 'ApprovedAnnotation', message: `approved in ${value}` };
    case 'bypassed':
      return {
        type,
        status: 'False',
        reason: 'UnapprovedAnnotation',
        message: `not approved: ${JSON.stringify(value)}`,
      };
    case 'missing':
    case 'invalid': {
      const reason = approval === 'missing' ? 'MissingAnnotation' : 'InvalidAnnotation';
      const with_ = approval === 'missing' ? '' : ' with either a URL or a reason starting with "unapproved"';
      const message = `protected groups must have approval annotation "${APPROVAL_ANNOTATION}"${with_}, see https://github.com/kubernetes/enhancements/pull/1111`;
      return { type, status: 'False', reason, message };
    }
  }
}
