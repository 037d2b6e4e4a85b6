/** Objects in etcd. Code outside this folder does not depend on the stored form. */
export { type ClosableObjectStore, createEtcdObjectStore, type EtcdObjectStoreOptions } from './etcd-object-store.ts';
export { INCARNATION_KEY } from './keys.ts';
export { createSealing, type Sealing, type SealingKey, type SealingKeys } from './sealing.ts';
export { addSealingKey, forgetOldSealingKeys, KEY_FILE, openSealingKeys } from './sealing-key-file.ts';
export { reseal } from './reseal.ts';
export type {
  Fence,
  GuardedWrite,
  ObjectReader,
  ObjectStore,
  ObjectWatcher,
  ObjectWriter,
  ResourceVersion,
  StoredObject,
  StoreEvent,
  StorePage,
  StoreWatchItem,
  Unchanged,
  WriteOutcome,
  Writer,
} from './object-store.ts';
