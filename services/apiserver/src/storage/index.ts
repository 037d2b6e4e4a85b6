/** Objects in etcd. Code outside this folder does not depend on the stored form. */
export { createEtcdObjectStore } from './etcd-object-store.ts';
export { INCARNATION_KEY } from './keys.ts';
export { createSealing, type Sealing } from './sealing.ts';
export { addSealingKey, forgetOldSealingKeys, KEY_FILE, openSealingKeys, sealingKeyIds } from './sealing-key-file.ts';
export { reseal } from './reseal.ts';
export type {
  ObjectStore,
  Unchanged,
} from './object-store.ts';
