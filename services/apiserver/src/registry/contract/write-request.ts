import type { SubresourceDefinition } from '@gantry/apimachinery';
import type { RequestContext, Target, WriteOptions } from './registry.ts';

/** A request that writes, before its body is read. */
export interface WriteRequest {
  readonly context: RequestContext;
  readonly target: Target;
  readonly options: WriteOptions;
  /** The definition of the subresource that `target.subresource` names; undefined for the object itself. */
  readonly subresource: SubresourceDefinition | undefined;
}
