import { type PolicyRule, StatusError } from '@gantry/api';
import type { AskedTarget, Authorizer, User } from '../driver.ts';
import { selectedName } from './field-selection.ts';
import { fixedPathRight, fixedRight, isFixedIdentity } from './fixed-rights.ts';
import type { ObjectLookup } from './object-lookup.ts';
import { type Action, allows } from './rbac/rules.ts';
import type { RoleIndex } from './rbac/role-index.ts';
import type { Request } from './request.ts';

/** Rights on paths that are no resources. */
export interface PathAuthorizer {
  /** Throws StatusError Forbidden. */
  authorizePath(user: User, verb: string, path: string): void;
}

/** An answer to "may he?", with the reason as Kubernetes words it. */
export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Rights as they are told: whether a user may do something, and all the rules that he has. */
export interface AccessDecider {
  decide(user: User, request: Omit<Request, 'user'>): Decision;
  decidePath(user: User, verb: string, path: string): Decision;
  /** Every rule that holds in a namespace, and what could not be found out. */
  rulesFor(user: User, namespace: string): { readonly rules: readonly PolicyRule[]; readonly problem: string };
}

const ADMINISTRATORS = 'system:masters';
const ALL: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/**
 * Who may do what: the administrators all, the services and agents of the cluster their fixed rights, and everybody what roles
 * that are bound to him give (RBAC). A fixed identity has of those only what all who are authenticated have: nobody gives
 * a service more by a binding to its name.
 */
export function createAuthorizer(lookup: ObjectLookup, roles: RoleIndex): Authorizer & PathAuthorizer & AccessDecider {
  const decide: AccessDecider['decide'] = (user, asked) => {
    if (user.groups.includes(ADMINISTRATORS)) return { allowed: true, reason: '' };
    if (fixedRight({ ...asked, user }, lookup)) return { allowed: true, reason: '' };
    return decideByRoles(roles, user, actionOf(asked));
  };
  const decidePath: AccessDecider['decidePath'] = (user, verb, path) => {
    if (user.groups.includes(ADMINISTRATORS) || fixedPathRight(user, verb, path)) return { allowed: true, reason: '' };
    return decideByRoles(roles, user, { kind: 'path', verb, path });
  };
  return {
    decide,
    decidePath,
    rulesFor: (user, namespace) => {
      const grants = roles.grants(rbacUser(user), namespace);
      const own = user.groups.includes(ADMINISTRATORS) && grants.length === 0 ? ALL : [];
      const missing = grants.flatMap((grant) => ('missing' in grant ? [grant.missing] : []));
      return {
        rules: [...own, ...grants.flatMap((grant) => ('rules' in grant ? grant.rules : []))],
        problem: problemOf(missing),
      };
    },
    authorize: (user, verb, target, object, fieldSelector = '') => {
      const { allowed, reason } = decide(user, { verb, target, object, fieldSelector });
      if (!allowed) throw forbidden(user, verb, target, reason);
    },
    authorizePath: (user, verb, path) => {
      const { allowed, reason } = decidePath(user, verb, path);
      if (allowed) return;
      const text = `User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}`;
      throw new StatusError('Forbidden', `forbidden: ${withReason(text, reason)}`, { details: {} });
    },
  };
}

/** Whom RBAC sees. */
function rbacUser(user: User): Pick<User, 'name' | 'groups'> {
  return isFixedIdentity(user) ? { name: '', groups: ['system:authenticated'] } : user;
}

function decideByRoles(roles: RoleIndex, user: User, action: Action): Decision {
  const missing: string[] = [];
  for (const grant of roles.grants(rbacUser(user), action.kind === 'resource' ? action.namespace : '')) {
    if ('missing' in grant) missing.push(grant.missing);
    else if (grant.rules.some((rule) => allows(rule, action))) {
      return { allowed: true, reason: `RBAC: allowed by ${grant.through}` };
    }
  }
  const problem = problemOf(missing);
  return { allowed: false, reason: problem === '' ? '' : `RBAC: ${problem}` };
}

/** Several problems as one text, each once. */
function problemOf(problems: readonly string[]): string {
  const texts = [...new Set(problems)];
  return texts.length > 1 ? `[${texts.join(', ')}]` : (texts[0] ?? '');
}

/** A Namespace is in itself: whoever has rights in it may have them on it. */
function namespaceOf({ definition, namespace, name }: AskedTarget): string {
  return definition.group === '' && definition.resource === 'namespaces' && namespace === '' ? name : namespace;
}

function actionOf({ verb, target, fieldSelector }: Omit<Request, 'user'>): Action {
  const { definition, subresource } = target;
  const { group, resource } = definition;
  // The object of a creation has no name yet; a list that is narrowed to one object is about that.
  const created = verb === 'create' && subresource === '';
  const name = created ? '' : target.name === '' ? (selectedName(fieldSelector) ?? '') : target.name;
  const namespace = namespaceOf({ ...target, name });
  return { kind: 'resource', verb, group, resource, subresource, namespace, name };
}

function forbidden(user: User, verb: string, target: AskedTarget, reason: string): StatusError {
  const { definition, name, subresource } = target;
  const namespace = namespaceOf(target);
  const resource = subresource === '' ? definition.resource : `${definition.resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const group = JSON.stringify(definition.group);
  const text = `User ${JSON.stringify(user.name)} cannot ${verb} resource ${JSON.stringify(resource)} in API group ${group} ${where}`;
  return StatusError.forbidden(
    { group: definition.group, resource: definition.resource },
    name,
    withReason(text, reason),
  );
}

function withReason(text: string, reason: string): string {
  return reason === '' ? text : `${text}: ${reason}`;
}
