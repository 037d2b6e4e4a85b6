import {
  BOOL,
  type CelType,
  type CelValue,
  CelError,
  CelOpaque,
  type FunctionDeclaration,
  opaqueOf,
  type Overload,
  STRING,
} from '@gantry/cel';

const name = (kind: string) => `kubernetes.authorization.${kind}`;
export const AUTHORIZER = opaqueOf(name('Authorizer'));
export const RESOURCE_CHECK = opaqueOf(name('ResourceCheck'));
const PATH_CHECK = opaqueOf(name('PathCheck'));
const GROUP_CHECK = opaqueOf(name('GroupCheck'));
const DECISION = opaqueOf(name('Decision'));

/** The right that an expression checks. */
export interface AskedRight {
  /** The service account to check, instead of the user of the request. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
  /** A non-resource path. */
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** Selectors that restrict a list request. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Decides on rights. */
export type Decide = (right: AskedRight, verb: string) => Decision;

/** An authorization check that an expression is building. */
export class RightsValue extends CelOpaque {
  readonly type: CelType;
  readonly right: AskedRight;
  readonly decide: Decide;

  constructor(type: CelType, right: AskedRight, decide: Decide) {
    super();
    this.type = type;
    this.right = right;
    this.decide = decide;
  }

  equals(other: CelOpaque): boolean {
    return other === this;
  }
}

class DecisionValue extends CelOpaque {
  readonly type = DECISION;
  readonly decision: Decision;

  constructor(decision: Decision) {
    super();
    this.decision = decision;
  }

  equals(other: CelOpaque): boolean {
    return other === this;
  }
}

/** The variable `authorizer`: checks for the user of the request. */
export function authorizerValue(decide: Decide): RightsValue {
  return new RightsValue(AUTHORIZER, {}, decide);
}

/** The variable `authorizer.requestResource`: a check for the resource of the request. */
export function requestResourceValue(right: AskedRight, decide: Decide): RightsValue {
  return new RightsValue(RESOURCE_CHECK, right, decide);
}

/** A member function that adds details to a check. */
function narrow(id: string, from: CelType, to: CelType, by: (...texts: string[]) => AskedRight, count = 1): Overload {
  return {
    id,
    member: true,
    args: [from, ...Array.from({ length: count }, () => STRING)],
    result: to,
    call: (value, ...texts) => {
      if (!(value instanceof RightsValue)) return new CelError('no such overload');
      return new RightsValue(to, { ...value.right, ...by(...texts.map(String)) }, value.decide);
    },
  };
}

function check(id: string, from: CelType): Overload {
  return {
    id,
    member: true,
    args: [from, STRING],
    result: DECISION,
    call: (value, verb) =>
      value instanceof RightsValue
        ? new DecisionValue(value.decide(value.right, String(verb)))
        : new CelError('no such overload'),
  };
}

function tell(id: string, result: CelType, of: (decision: Decision) => CelValue): Overload {
  return {
    id,
    member: true,
    args: [DECISION],
    result,
    call: (value) => (value instanceof DecisionValue ? of(value.decision) : new CelError('no such overload')),
  };
}

/** Functions for authorization checks. */
export const AUTHORIZER_FUNCTIONS: readonly FunctionDeclaration[] = [
  { name: 'path', overloads: [narrow('authorizer_path', AUTHORIZER, PATH_CHECK, (path = '') => ({ path }))] },
  { name: 'group', overloads: [narrow('authorizer_group', AUTHORIZER, GROUP_CHECK, (group = '') => ({ group }))] },
  {
    name: 'serviceAccount',
    overloads: [
      narrow(
        'authorizer_serviceaccount',
        AUTHORIZER,
        AUTHORIZER,
        (namespace = '', account = '') => ({ serviceAccount: { namespace, name: account } }),
        2,
      ),
    ],
  },
  {
    name: 'resource',
    overloads: [narrow('groupcheck_resource', GROUP_CHECK, RESOURCE_CHECK, (resource = '') => ({ resource }))],
  },
  {
    name: 'subresource',
    overloads: [
      narrow('resourcecheck_subresource', RESOURCE_CHECK, RESOURCE_CHECK, (subresource = '') => ({ subresource })),
    ],
  },
  {
    name: 'namespace',
    overloads: [narrow('resourcecheck_namespace', RESOURCE_CHECK, RESOURCE_CHECK, (namespace = '') => ({ namespace }))],
  },
  {
    name: 'name',
    overloads: [narrow('resourcecheck_name', RESOURCE_CHECK, RESOURCE_CHECK, (of = '') => ({ name: of }))],
  },
  {
    name: 'fieldSelector',
    overloads: [
      narrow('authorizer_fieldselector', RESOURCE_CHECK, RESOURCE_CHECK, (fieldSelector = '') => ({ fieldSelector })),
    ],
  },
  {
    name: 'labelSelector',
    overloads: [
      narrow('authorizer_labelselector', RESOURCE_CHECK, RESOURCE_CHECK, (labelSelector = '') => ({ labelSelector })),
    ],
  },
  { name: 'check', overloads: [check('pathcheck_check', PATH_CHECK), check('resourcecheck_check', RESOURCE_CHECK)] },
  { name: 'allowed', overloads: [tell('decision_allowed', BOOL, ({ allowed }) => allowed)] },
  { name: 'reason', overloads: [tell('decision_reason', STRING, ({ reason }) => reason)] },
  { name: 'errored', overloads: [tell('decision_errored', BOOL, () => false)] },
  { name: 'error', overloads: [tell('decision_error', STRING, () => '')] },
];
