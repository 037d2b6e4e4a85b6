import type { KubeObject } from '@gantry/objects';

/** Which objects a list or watch wants. What `key` and `nodeName` say, `matches` says too: they only lead to it faster. */
export interface Filter {
  readonly namespace: string;
  readonly matches: (object: KubeObject) => boolean;
  /** True when only the namespace narrows the list: then the count of remaining objects is exact. */
  readonly selectsAll: boolean;
  /** The key of the only object that can match, when the selector says its name. */
  readonly key?: string;
  /** The value that `spec.nodeName` must have, when the selector says so. */
  readonly nodeName?: string;
}
