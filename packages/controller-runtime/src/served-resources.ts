import type { ResourceRef } from '@gantry/api';
import type { ServedResource } from './served-resource.ts';

/**
 * What is served besides the built-in resources: custom ones by their definitions, and those of other servers by what
 * discovery finds behind their APIServices. It changes while controllers run.
 */
export interface ServedResources {
  list(): readonly ServedResource[];
  /** By group and plural, whatever the version. */
  find(of: { readonly group: string; readonly resource: string }): ServedResource | undefined;
  /** By group and kind, whatever the version: all versions of a kind are the same objects. */
  findKind(group: string, kind: string): ServedResource | undefined;
  /** Group versions whose server does not say what it serves, in order. */
  failures(): readonly string[];
  /** Whether the cache holds all objects of a resource. */
  isSynced(resource: ResourceRef): boolean;
  /** Whether each other server has been asked, and each resource that is followed been listed, or has at least failed to be. */
  isSettled(): boolean;
  /** Asks the other servers again, and resolves when each has answered or has failed to. */
  refresh(signal: AbortSignal): Promise<void>;
}
