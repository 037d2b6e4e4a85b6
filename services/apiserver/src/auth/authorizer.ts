import { type JsonObject, StatusError } from '@gantry/api';
import type { Authorizer, Target, User } from '../driver.ts';
import { selectedName } from './field-selection.ts';
import { mayNode, NODE_USER_PREFIX } from './node-rules.ts';
import type { ObjectLookup } from './object-lookup.ts';
import type { Request } from './request.ts';

/** Rights on paths that are no resources. */
export interface PathAuthorizer {
  /** Throws StatusError Forbidden. */
  authorizePath(user: User, verb: string, path: string): void;
}

const ADMINISTRATORS = 'system:masters';
const PUBLIC_PATHS = /^\/(livez|readyz|healthz|version)(\/|$)/;
const READ_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/** Who may do what until there is RBAC: the administrator all, services and agents what they need, service accounts discovery. */
export function createAuthorizer(lookup: ObjectLookup): Authorizer & PathAuthorizer {
  return {
    authorize: (user, verb, target, object, fieldSelector = '') => {
      if (!mayResource({ user, verb, target, object, fieldSelector }, lookup)) throw forbidden(user, verb, target);
    },
    authorizePath: (user, verb, path) => {
      if (mayPath(user, verb, path)) return;
      throw new StatusError(
        'Forbidden',
        `forbidden: User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}`,
        {
          details: {},
        },
      );
    },
  };
}

function mayPath(user: User, verb: string, path: string): boolean {
  if (user.groups.includes(ADMINISTRATORS)) return true;
  if (verb !== 'get' && verb !== 'head') return false;
  if (PUBLIC_PATHS.test(path)) return true;
  if (path === '/metrics') return user.groups.includes('gantry:services');
  return user.groups.includes('system:authenticated');
}

function mayResource(request: Request, lookup: ObjectLookup): boolean {
  const { user, verb, target } = request;
  if (user.groups.includes(ADMINISTRATORS)) return true;
  if (!user.groups.includes('system:authenticated')) return false;
  const { group, resource } = target.definition;
  if (group === 'authentication.k8s.io' && resource === 'selfsubjectreviews') return verb === 'create';
  if (user.name === 'system:kube-controller-manager') return true;
  if (isCertificateRequest(target)) return mayRequestCertificate(request, lookup);
  if (user.name === 'system:kube-scheduler') return mayScheduler(request);
  if (user.name === 'system:apiserver') return isOwnLease(target, 'kube-apiserver');
  if (user.name.startsWith(NODE_USER_PREFIX) && user.groups.includes('system:nodes')) return mayNode(request, lookup);
  return false;
}

function mayScheduler({ verb, target }: Request): boolean {
  const { group, resource } = target.definition;
  if (READ_VERBS.has(verb)) return !(group === '' && resource === 'secrets');
  if (group === 'coordination.k8s.io') return isOwnLease(target, 'kube-scheduler');
  if (resource === 'events') return verb === 'create' || verb === 'patch' || verb === 'update';
  if (group !== '' || resource !== 'pods') return false;
  if (target.subresource === 'binding') return verb === 'create';
  if (target.subresource === 'status') return verb === 'patch' || verb === 'update';
  return target.subresource === '' && verb === 'delete';
}

function isOwnLease({ definition, namespace, name }: Target, own: string): boolean {
  if (definition.group !== 'coordination.k8s.io' || definition.resource !== 'leases') return false;
  return namespace === 'kube-system' && (name === own || name === '' || name.startsWith(`${own}-`));
}

function isCertificateRequest({ definition, subresource }: Target): boolean {
  return definition.group === 'certificates.k8s.io' && subresource === '';
}

/** Services, agents and holders of the bootstrap token may ask for certificates and look at their own requests. */
function mayRequestCertificate({ user, verb, target, object, fieldSelector }: Request, lookup: ObjectLookup): boolean {
  const asks = ['gantry:services', 'gantry:apiservers', 'system:nodes', 'system:bootstrappers'];
  if (!asks.some((group) => user.groups.includes(group))) return false;
  if (verb === 'create') return true;
  if (!READ_VERBS.has(verb)) return false;
  const name = target.name === '' ? selectedName(fieldSelector) : target.name;
  if (name === undefined) return false;
  const stored = object ?? (lookup.get('certificatesigningrequests', '', name) as unknown as JsonObject | undefined);
  const spec = stored?.spec as JsonObject | undefined;
  return stored === undefined || spec?.username === user.name;
}

function forbidden(user: User, verb: string, { definition, namespace, name, subresource }: Target): StatusError {
  const resource = subresource === '' ? definition.resource : `${definition.resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const group = JSON.stringify(definition.group);
  return StatusError.forbidden(
    { group: definition.group, resource: definition.resource },
    name,
    `User ${JSON.stringify(user.name)} cannot ${verb} resource ${JSON.stringify(resource)} in API group ${group} ${where}`,
  );
}
