import { type Clock, type Random, seededRandom, systemClock, systemUid } from '@gantry/base';
import { MemoryEtcd } from '@gantry/etcd/testing';
import { type ClosableObjectStore, createEtcdObjectStore, type EtcdObjectStoreOptions } from '../etcd-object-store.ts';
import { createSealing, fixedKeys } from '../sealing.ts';

/** Seals Secrets, as the store in etcd does. A store in memory needs no secret key. */
const SEALING = createSealing(fixedKeys([{ id: 'memory', secret: new Uint8Array(32) }]), ['secrets']);

/** An object store with an in-memory model of etcd. Tests can script faults of the model. */
export interface MemoryObjectStore extends ClosableObjectStore {
  /** The model of etcd, for faults, history and compaction. */
  readonly etcd: MemoryEtcd;
}

/**
 * Creates the real store with an in-memory etcd. Groups, lanes, envelope and numbering use the same code as with etcd. Several stores may
 * share one etcd, as apiservers do.
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
