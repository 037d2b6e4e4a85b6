import type { Verb } from '@gantry/apimachinery';
import { ADMINISTRATORS, type JsonObject, type PolicyRule, StatusError } from '@gantry/objects';
import { type AccessTarget, type Request, selectedName } from './request.ts';
import type { RequestAudit } from '../../audit/audit-trail.ts';
import type { User } from '../user.ts';
import { fixedPathRight, fixedRight, isFixedIdentity } from './fixed-rights.ts';
import type { ObjectLookup } from './object-lookup.ts';
import { type Action, allows } from '../rbac/rules.ts';
import type { RoleIndex } from '../rbac/role-index.ts';

/** A user whose request is decided on, and the request's audit log, which says how. */
export interface Asker {
  readonly user: User;
  readonly audit: RequestAudit;
}

/** Decides who may do what. */
export interface Authorizer {
  /**
   * Throws StatusError Forbidden. `object` is the stored or new object where rules depend on it (an agent's own pods).
   * `fieldSelector` is that of a list, watch or deletecollection: some may list only what it narrows down to.
   */
  authorize(
    asker: Asker,
    verb: Verb | string,
    target: AccessTarget,
    object: JsonObject | undefined,
    fieldSelector?: string,
  ): void;
}

/** Rights on paths that are no resources. */
export interface PathAuthorizer {
  /** Throws StatusError Forbidden. */
  authorizePath(asker: Asker, verb: string, path: string): void;
}

/** Whether a user may do something, with the reason as Kubernetes words it. */
export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Rights as they are told: whether a user may do something, and all the rules that he has. */
export interface AccessDecider {
  decide(user: User, request: Omit<Request, 'user'>): Decision;
  decidePath(user: User, verb: string, path: string): Decision;
  /** Every rule that holds in a namespace; `problem` says which rules are not known, '' when all are. */
  rulesFor(user: User, namespace: string): { readonly rules: readonly PolicyRule[]; readonly problem: string };
}

const ALL: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/**
 * Authorises requests: administrators may do everything, services and agents have fixed rights, and all users those of their bound
 * roles (RBAC). For fixed identities only roles of all authenticated users count: a binding to a service's name grants nothing.
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

/** A decision, which the audit log shows. A refusal stands, whatever was allowed before it. */
function noted(audit: RequestAudit, decision: Decision): Decision {
  audit.decided(decision.allowed ? 'allow' : 'forbid', decision.reason);
  return decision;
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

/** A Namespace counts as within itself: rights in it also apply to it. */
function namespaceOf({ definition, namespace, name }: AccessTarget): string {
  return definition.group === '' && definition.resource === 'namespaces' && namespace === '' ? name : namespace;
}

function actionOf({ verb, target, fieldSelector }: Omit<Request, 'user'>): Action {
  const { definition, subresource } = target;
  const { group, resource } = definition;
  // The object of a creation has no name yet; a list or watch, and no other verb, that is narrowed to one object is about that.
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
