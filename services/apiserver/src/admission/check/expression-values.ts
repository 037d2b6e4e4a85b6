import type { ResourceDefinition } from '@gantry/apimachinery';
import { type AskedRight, type Decision, authorizerValue, requestResourceValue } from '@gantry/custom-resources';
import { type JsonObject, type KubeObject, type Namespace, NAMESPACES } from '@gantry/objects';
import { type Bindings, type CelValue, valueOfJson } from '@gantry/cel';
import type { User } from '../../auth/user.ts';
import type { Access, AdmissionReader, AdmissionRequest } from './admission-check.ts';
import { convertObject, namespaceOf } from './request-matching.ts';

/** The variables of expressions for a request, in the version `as` of the matching rule. */
export async function expressionValues(
  request: AdmissionRequest,
  as: ResourceDefinition,
  reader: AdmissionReader,
  access: Access,
): Promise<Bindings> {
  const { definition, kind, operation, object, old, namespace } = request;
  const own = kind.kind === definition.kind && kind.group === definition.group;
  const show = async (one: KubeObject | undefined): Promise<CelValue> =>
    one === undefined ? null : valueOfJson(own ? await convertObject(one, definition, as) : one);
  const found = definition.namespaced ? await reader.find<Namespace>(NAMESPACES, '', namespace) : undefined;
  const decide = (right: AskedRight, verb: string): Decision => decideOn(access, request.user, right, verb);
  const { group, resource } = definition;
  return {
    object: operation === 'delete' ? null : await show(object),
    oldObject: await show(old),
    request: valueOfJson(requestFields(request, as, own)),
    namespaceObject: found === undefined ? null : valueOfJson(found),
    authorizer: authorizerValue(decide),
    'authorizer.requestResource': requestResourceValue(
      { group, resource, subresource: request.subresource, namespace: namespaceOf(request), name: request.name },
      decide,
    ),
  };
}

function requestFields(request: AdmissionRequest, as: ResourceDefinition, own: boolean): JsonObject {
  const { definition, kind, subresource, user } = request;
  const plural = ({ group, version, resource }: ResourceDefinition) => ({ group, version, resource });
  return {
    kind: own ? { group: as.group, version: as.version, kind: as.kind } : { ...kind },
    resource: plural(as),
    subResource: subresource,
    requestKind: { ...kind },
    requestResource: plural(definition),
    requestSubResource: subresource,
    name: request.name,
    namespace: namespaceOf(request),
    operation: request.operation.toUpperCase(),
    userInfo: {
      username: user.name,
      uid: user.uid,
      groups: [...user.groups],
      extra: Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]])),
    },
    dryRun: request.dryRun,
    options: request.options,
  };
}

/** Whether the user, or the service account in the expression, has a right. */
function decideOn(access: Access, user: User, right: AskedRight, verb: string): Decision {
  const { serviceAccount, path, group = '', resource = '', subresource = '', namespace = '', name = '' } = right;
  const who = serviceAccount === undefined ? user : accountUser(serviceAccount);
  if (path !== undefined) return access.decidePath(who, verb, path);
  const target = { definition: { group, resource }, namespace, name, subresource };
  return access.decide(who, { verb, target, object: undefined, fieldSelector: right.fieldSelector ?? '' });
}

function accountUser({ namespace, name }: { namespace: string; name: string }): User {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  return { name: `system:serviceaccount:${namespace}:${name}`, uid: '', groups, extra: {} };
}
