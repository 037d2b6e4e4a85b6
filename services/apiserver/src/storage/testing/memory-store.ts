import { type Clock, type Random, seededRandom, systemClock, systemUid } from '@gantry/base';
import { MemoryEtcd } from '@gantry/etcd/testing';
import { type ClosableObjectStore, createEtcdObjectStore, type EtcdObjectStoreOptions } from '../etcd-object-store.ts';
import { createSealing, fixedKeys } from '../sealing.ts';

/** Seals Secrets, as etcd's store does; a store in memory needs no secret key. */
const SEALING = createSealing(fixedKeys([{ id: 'memory', secret: new Uint8Array(32) }]), ['secrets']);

/** An object store over a model of etcd in memory, whose faults a test can script. */
export interface MemoryObjectStore extends ClosableObjectStore {
  /** Faults, history and compaction: see MemoryEtcd. */
  readonly etcd: MemoryEtcd;
}

/**
 * The real store over an in-memory etcd: groups, lanes, envelope and numbering are the very code that runs on etcd. Several
 * stores may share one etcd, as apiservers do.
 */
export function createMemoryObjectStore(
  options: Partial<Omit<EtcdObjectStoreOptions, 'etcd'>> & {
    readonly etcd?: MemoryEtcd;
    readonly clock?: Clock;
    readonly random?: Random;
  } = {},
): MemoryObjectStore {
  const etcd = options.etcd ?? new MemoryEtcd();
  const store = createEtcdObjectStore({
    ...options,
    etcd,
    clock: options.clock ?? systemClock,
    random: options.random ?? seededRandom(1),
    newUid: options.newUid ?? systemUid,
    sealing: options.sealing ?? SEALING,
  });
  return Object.assign(store, { etcd });
}
