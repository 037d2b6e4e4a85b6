import type { ResourceDefinition } from '@gantry/apimachinery';
import type { JsonObject } from '@gantry/objects';
import type { User } from '../user.ts';

/** What a right is about. Its resource need not be one that is served: reviews ask about any. */
export interface AccessTarget {
  readonly definition: Pick<ResourceDefinition, 'group' | 'resource'>;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

/** What a rule decides by. */
export interface Request {
  readonly user: User;
  readonly verb: string;
  readonly target: AccessTarget;
  /** The stored or new object, where the registry has it. */
  readonly object: JsonObject | undefined;
  readonly fieldSelector: string;
}

/** The one name that a field selector leaves, if it does. */
export function selectedName(fieldSelector: string): string | undefined {
  return selectedValue(fieldSelector, 'metadata.name');
}

/** The one value that a field selector leaves for a field, if it does. */
export function selectedValue(fieldSelector: string, field: string): string | undefined {
  for (const part of fieldSelector.split(',')) {
    const match = /^([^=!]+)==?(.*)$/.exec(part.trim());
    if (match?.[1] === field) return match[2];
  }
  return undefined;
}
