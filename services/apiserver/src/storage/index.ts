/** Objects in etcd. Nothing outside this folder knows how they are stored. */
export { createEtcdObjectStore, type ClosableObjectStore, type EtcdObjectStoreOptions } from './etcd-object-store.ts';
export { INCARNATION_KEY } from './keys.ts';
export { createSealing, type Sealing, type SealingKey, type SealingKeys } from './sealing.ts';
export { addSealingKey, forgetOldSealingKeys, KEY_FILE, openSealingKeys } from './sealing-key-file.ts';
export { reseal } from './reseal.ts';
export {
  type Fence,
  type GuardedWrite,
  type ObjectReader,
  type ObjectStore,
  type ObjectWatcher,
  type ObjectWriter,
  type ResourceVersion,
  type StoredObject,
  type StoreEvent,
  type StorePage,
  type StoreWatchItem,
  type Unchanged,
  type WriteOutcome,
  type Writer,
} from './object-store.ts';
