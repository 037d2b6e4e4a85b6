import type { ResourceDefinition, SubresourceDefinition } from '@gantry/apimachinery';
import { type GroupResource, StatusError } from '@gantry/objects';
import type { Target } from './registry.ts';

/** Group and plural name of a resource, for errors. */
export function groupResource(definition: ResourceDefinition): GroupResource {
  return { group: definition.group, resource: definition.resource };
}

/** The definition of the target's subresource; undefined for the object itself. Throws 404 or 405 when it does not support the verb. */
export function requireSubresource(target: Target, verb: string): SubresourceDefinition | undefined {
  if (target.subresource === '') return undefined;
  const found = target.definition.subresources.find((one) => one.name === target.subresource);
  if (found === undefined) {
    throw new StatusError('NotFound', 'the server could not find the requested resource', { details: {} });
  }
  if (!(found.verbs as readonly string[]).includes(verb)) {
    throw methodNotAllowed();
  }
  return found;
}

export function methodNotAllowed(): StatusError {
  return new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {
    details: {},
  });
}
