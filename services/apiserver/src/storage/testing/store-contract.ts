import { afterEach, beforeEach, describe } from 'vitest';
import type { ClosableObjectStore } from '../etcd-object-store.ts';
import { describeFences } from './contract-fences.ts';
import { describeReads } from './contract-reads.ts';
import { describeWatches } from './contract-watches.ts';
import { describeWrites } from './contract-writes.ts';
import type { StoreFixture } from './store-fixture.ts';

/** The contract of every object store. It runs with the in-memory model and with a real cluster. */
export function describeObjectStore(name: string, createFixture: () => Promise<StoreFixture>): void {
  describe(name, () => {
    let fixture: StoreFixture;
    let store: ClosableObjectStore;

    beforeEach(async () => {
      fixture = await createFixture();
      store = fixture.createStore();
    });

    afterEach(async () => {
      await store.close(AbortSignal.timeout(30_000));
      await fixture.stop();
    });

    describe('writes', () => describeWrites(() => ({ fixture, store })));
    describe('fences', () => describeFences(() => ({ fixture, store })));
    describe('reads', () => describeReads(() => ({ fixture, store })));
    describe('watches', () => describeWatches(() => ({ fixture, store })));
  });
}
