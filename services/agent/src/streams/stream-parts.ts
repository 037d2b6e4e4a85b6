import type { Owner } from '../runtime/labels.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { StreamLimits } from './stream-limits.ts';

/** What streams need of an agent. */
export interface StreamParts {
  readonly runtime: Runtime;
  readonly owner: Owner;
  readonly limits: StreamLimits;
}
