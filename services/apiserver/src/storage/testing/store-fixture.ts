import type { KeyValueStore } from '@gantry/etcd';
import type { ClosableObjectStore, EtcdObjectStoreOptions } from '../etcd-object-store.ts';

/** One etcd cluster (real or a model), empty at the start, and stores that use it. */
export interface StoreFixture {
  createStore(options?: Partial<Omit<EtcdObjectStoreOptions, 'etcd'>>): ClosableObjectStore;
  /** Access to keys that are not objects: election keys, incarnation. */
  readonly kv: KeyValueStore;
  compact(revision: number): Promise<void>;
  stop(): Promise<void>;
}

/** The fixture and the store of a contract test. */
export type Context = () => { readonly fixture: StoreFixture; readonly store: ClosableObjectStore };
