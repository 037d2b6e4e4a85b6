import type { ResourceDefinition } from '@gantry/apimachinery';
import type { JsonObject } from '@gantry/objects';
import type { User } from '../user.ts';

/** The target of an authorisation request. The resource need not be served, since reviews may name any resource. */
export interface AccessTarget {
  readonly definition: Pick<ResourceDefinition, 'group' | 'resource'>;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

/** An authorisation request. */
export interface Request {
  readonly user: User;
  readonly verb: string;
  readonly target: AccessTarget;
  /** The stored or new object, if the registry has it. */
  readonly object: JsonObject | undefined;
  readonly fieldSelector: string;
}

/** The only name that a field selector can match; undefined if it can match several. */
export function selectedName(fieldSelector: string): string | undefined {
  return selectedValue(fieldSelector, 'metadata.name');
}

/** The only value of a field that a field selector can match; undefined if it can match several. */
export function selectedValue(fieldSelector: string, field: string): string | undefined {
  for (const part of fieldSelector.split(',')) {
    const match = /^([^=!]+)==?(.*)$/.exec(part.trim());
    if (match?.[1] === field) return match[2];
  }
  return undefined;
}
