import type { Verb } from '@gantry/apimachinery';
import { ADMINISTRATORS, type JsonObject, type PolicyRule, StatusError } from '@gantry/objects';
import { type AccessTarget, type Request, selectedName } from './request.ts';
import type { RequestAudit } from '../../audit/audit-trail.ts';
import type { User } from '../user.ts';
import { fixedPathRight, fixedRight, isFixedIdentity } from './fixed-rights.ts';
import type { ObjectLookup } from './object-lookup.ts';
import { type Action, allows } from '../rbac/rules.ts';
import type { RoleIndex } from '../rbac/role-index.ts';

/** The user of a request, and the audit data of the request, which records the decision. */
export interface Asker {
  readonly user: User;
  readonly audit: RequestAudit;
}

/** Authorises requests for resources. */
export interface Authorizer {
  /**
   * Throws StatusError Forbidden. `object` is the stored or new object, for rules that depend on it (an agent's own pods).
   * `fieldSelector` is that of a list, watch or deletecollection: some users may list only the objects that it selects.
   */
  authorize(
    asker: Asker,
    verb: Verb | string,
    target: AccessTarget,
    object: JsonObject | undefined,
    fieldSelector?: string,
  ): void;
}

/** Authorises requests for paths that are not resources. */
export interface PathAuthorizer {
  /** Throws StatusError Forbidden. */
  authorizePath(asker: Asker, verb: string, path: string): void;
}

/** An authorisation decision, with Kubernetes' text of the reason. */
export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Authorisation as access reviews report it: single decisions, and all rules of a user. */
export interface AccessDecider {
  decide(user: User, request: Omit<Request, 'user'>): Decision;
  decidePath(user: User, verb: string, path: string): Decision;
  /** All rules of the user in a namespace. `problem` says which rules could not be resolved; '' if all could. */
  rulesFor(user: User, namespace: string): { readonly rules: readonly PolicyRule[]; readonly problem: string };
}

const ALL: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/**
 * Authorises requests. Administrators may do everything. Services and agents have fixed rights. All users have the rights of their
 * roles (RBAC). Fixed identities have only the roles of all authenticated users: a binding to the name of a service grants nothing.
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
    authorize: ({ user, audit }, verb, target, object, fieldSelector = '') => {
      const { allowed, reason } = noted(audit, decide(user, { verb, target, object, fieldSelector }));
      if (!allowed) throw forbidden(user, verb, target, reason);
    },
    authorizePath: ({ user, audit }, verb, path) => {
      const { allowed, reason } = noted(audit, decidePath(user, verb, path));
      if (allowed) return;
      const text = `User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}`;
      throw new StatusError('Forbidden', `forbidden: ${withReason(text, reason)}`, { details: {} });
    },
  };
}

/** Records a decision in the audit data and returns it. */
function noted(audit: RequestAudit, decision: Decision): Decision {
  audit.decided(decision.allowed ? 'allow' : 'forbid', decision.reason);
  return decision;
}

/** The user for RBAC. A fixed identity counts only as an authenticated user. */
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

/** Joins problems to one text, without duplicates. */
function problemOf(problems: readonly string[]): string {
  const texts = [...new Set(problems)];
  return texts.length > 1 ? `[${texts.join(', ')}]` : (texts[0] ?? '');
}

/** The namespace of the target. A Namespace object belongs to itself, so that rights in a namespace also apply to its object. */
function namespaceOf({ definition, namespace, name }: AccessTarget): string {
  return definition.group === '' && definition.resource === 'namespaces' && namespace === '' ? name : namespace;
}

function actionOf({ verb, target, fieldSelector }: Omit<Request, 'user'>): Action {
  const { definition, subresource } = target;
  const { group, resource } = definition;
  // A new object has no name yet. A list or watch whose field selector selects one name counts as a request for that object.
  const created = verb === 'create' && subresource === '';
  const selected = verb === 'list' || verb === 'watch' ? selectedName(fieldSelector) : undefined;
  const name = created ? '' : target.name || (selected ?? '');
  const namespace = namespaceOf({ ...target, name });
  return { kind: 'resource', verb, group, resource, subresource, namespace, name };
}

function forbidden(user: User, verb: string, target: AccessTarget, reason: string): StatusError {
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
