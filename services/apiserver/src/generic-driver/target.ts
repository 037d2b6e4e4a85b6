import { type GroupResource, type ResourceDefinition, StatusError, type SubresourceDefinition } from '@gantry/api';
import type { Target } from '../driver.ts';

/** Group and plural, as errors name them. */
export function groupResource(definition: ResourceDefinition): GroupResource {
  return { group: definition.group, resource: definition.resource };
}

/** The target's subresource, undefined for the object itself; 404 or 405 when there is none with this verb. */
export function requireSubresource(target: Target, verb: string): SubresourceDefinition | undefined {
  if (target.subresource === '') return undefined;
  const found = target.definition.subresources.find((one) => one.name === target.subresource);
  if (found === undefined) {
    throw new StatusError('NotFound', 'the server could not find the requested resource', { details: {} });
  }
  if (!(found.verbs as readonly string[]).includes(verb)) {
    throw new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {
      details: {},
    });
  }
  return found;
}
