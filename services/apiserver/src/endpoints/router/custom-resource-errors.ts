import { StatusError } from '@gantry/objects';
import { isKubernetesGroup } from '../kubernetes-groups.ts';
import type { ResourceIndex, ResourceRoute } from '../request-info.ts';

const VERBS: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/**
 * Why a method is not taken at a path of a custom resource, in the words of the handler that Kubernetes has for those: it knows
 * no routes, and finds out late. Undefined where it finds nothing there at all.
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
 * Why nothing is at a path in a group of custom resources alone: an object has no such subresource. 'nothing' where not even a
 * resource is, undefined for other groups.
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
