import type { KeyValueStore } from '@gantry/etcd';
import type { ClosableObjectStore, EtcdObjectStoreOptions } from '../etcd-object-store.ts';

/** One cluster (real or a model of it), empty at first, and stores over it. */
export interface StoreFixture {
  createStore(options?: Partial<Omit<EtcdObjectStoreOptions, 'etcd'>>): ClosableObjectStore;
  /** The keys beside the objects: election keys, incarnation. */
  readonly kv: KeyValueStore;
  compact(revision: number): Promise<void>;
  stop(): Promise<void>;
}

/** What a test of the contract works on. */
export type Context = () => { readonly fixture: StoreFixture; readonly store: ClosableObjectStore };
