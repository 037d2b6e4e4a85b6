import type { JsonObject } from '@gantry/api';
import type { AskedTarget, User } from '../driver.ts';

/** What a rule decides by. */
export interface Request {
  readonly user: User;
  readonly verb: string;
  readonly target: AskedTarget;
  /** The stored or new object, where the driver has it. */
  readonly object: JsonObject | undefined;
  readonly fieldSelector: string;
}
