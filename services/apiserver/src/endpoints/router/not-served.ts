import { StatusError } from '@gantry/objects';
import type { Exchange } from '../../http/exchange.ts';
import { methodNotAllowed, notFoundResource, PAGE_NOT_FOUND, sendText } from '../../http/respond.ts';
import type { ResourceIndex, ResourceRoute } from '../request-info.ts';

/**
 * The groups of Kubernetes itself. Gantry's own groups do not belong here: their unknown paths have the same responses as those of
 * custom resources.
 */
const KUBERNETES_GROUPS: ReadonlySet<string> = new Set([
  'apiregistration.k8s.io',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
  'resource.k8s.io',
  'flowcontrol.apiserver.k8s.io',
]);

/** Whether Kubernetes 1.36 itself serves this group. */
export function isKubernetesGroup(name: string): boolean {
  return KUBERNETES_GROUPS.has(name);
}

/** The response to a method that a resource does not support. */
export async function answerMethod(exchange: Exchange, route: ResourceRoute): Promise<void> {
  const { publishedSchema, stored } = route.definition;
  if (publishedSchema === undefined || !stored) throw methodNotAllowed();
  const refusal = refuseCustom(route, exchange.method);
  if (refusal !== undefined) throw refusal;
  await sendText(exchange, 404, PAGE_NOT_FOUND);
}

/** The response to an unknown path below a served group. */
export async function answerMissing(exchange: Exchange, resourceRegistry: ResourceIndex): Promise<void> {
  const missing = missingCustom(exchange.path, resourceRegistry);
  if (missing === undefined) throw notFoundResource();
  if (missing !== 'nothing') throw missing;
  await sendText(exchange, 404, PAGE_NOT_FOUND);
}

/** The response to any other unknown path. In Kubernetes' groups it is Kubernetes' response, also if Gantry does not serve the group. */
export async function answerUnknown(exchange: Exchange, resourceRegistry: ResourceIndex): Promise<void> {
  const [, root, group = ''] = exchange.path.split('/');
  const isKnown = root === 'api' || resourceRegistry.hasGroup(group) || isKubernetesGroup(group);
  if (isKnown && /^\/(api|apis\/[^/]+)\/[^/]+/.test(exchange.path)) throw notFoundResource();
  await sendText(exchange, 404, PAGE_NOT_FOUND);
}

const VERBS: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/**
 * Why a path of a custom resource does not support a method, with the message of Kubernetes' handler of custom resources. That handler
 * has no routes. Undefined if the handler does not know the path at all.
 */
export function refuseCustom(
  { definition, subresource, name, reach }: ResourceRoute,
  method: string,
): StatusError | undefined {
  if (reach === 'all') return undefined;
  const { group, resource } = definition;
  const verb = (Object.hasOwn(VERBS, method) ? VERBS[method] : undefined) ?? method.toLowerCase();
  if (subresource === undefined && name === '') return StatusError.badRequest('name must be provided');
  return new StatusError('MethodNotAllowed', `${verb} is not supported on resources of kind "${resource}.${group}"`, {
    details: { group, kind: resource },
  });
}

/**
 * The error of an unknown path in a group that has only custom resources: the object has no such subresource. Returns 'nothing' if the
 * resource does not exist either, and undefined for Kubernetes' groups.
 */
export function missingCustom(path: string, resourceRegistry: ResourceIndex): StatusError | 'nothing' | undefined {
  const [, root = '', group = '', version = '', ...rest] = path.split('/');
  if (root !== 'apis' || isKubernetesGroup(group)) return undefined;
  const inNamespace = rest[0] === 'namespaces' && rest.length > 2;
  const [resource = '', name = '', subresource = '', ...more] = inNamespace ? rest.slice(2) : rest;
  const definition = resourceRegistry.find({ group, version, resource });
  if (definition === undefined || definition.namespaced !== inNamespace || subresource === '' || more.length > 0) {
    return 'nothing';
  }
  return StatusError.notFound(definition, name);
}
