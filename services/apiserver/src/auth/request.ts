import type { JsonObject, ResourceDefinition } from '@gantry/api';
import type { User } from '../driver.ts';

/** What is asked for. Its resource need not be one that is served: reviews ask about any. */
export interface AskedTarget {
  readonly definition: Pick<ResourceDefinition, 'group' | 'resource'>;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

/** What a rule decides by. */
export interface Request {
  readonly user: User;
  readonly verb: string;
  readonly target: AskedTarget;
  /** The stored or new object, where the driver has it. */
  readonly object: JsonObject | undefined;
  readonly fieldSelector: string;
}
