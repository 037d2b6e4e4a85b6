import type { ResourceVersion } from '../storage/object-store.ts';
import type { ObjectResponse } from './object-response.ts';

/** One item of a watch. */
export type WatchItem =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly response: ObjectResponse }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: ResourceVersion; readonly initialEventsEnd: boolean };
