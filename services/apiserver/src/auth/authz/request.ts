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
