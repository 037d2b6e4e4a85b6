/** The watch cache: the apiserver's copy of all objects, which serves reads and watches. */
export { SharedResponse } from './object-response.ts';
export { WatchCache } from './watch-cache.ts';
export { formatContinueToken, parseContinueToken } from './continue-token.ts';
export { createEntry, type Entry, withVersion } from './entry.ts';
export { type Filter, STORED_VIEW } from './view.ts';
export { listVersion, namespacePrefix, objectKey, resourcePrefix, revisionOf } from './object-keys.ts';
export type { ResourceCache } from './resource-cache.ts';
export { prefixBounds } from './sorted-entries.ts';
export type { Watcher } from './watcher.ts';
