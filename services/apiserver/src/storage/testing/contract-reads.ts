import { append } from '@gantry/base';
import { expect, it } from 'vitest';
import { revisionOf } from '../keys.ts';
import { committed, create, pod, remove, signal, update } from './store-calls.ts';
import type { Context } from './store-fixture.ts';

/** Reads and lists. */
export function describeReads(context: Context): void {
  it('pages over one revision, whatever is written meanwhile', async () => {
    const { store } = context();
    await Promise.all(Array.from({ length: 25 }, (_, i) => store.write(create(pod(`p${10 + i}`)), signal())));
    const first = await store.list('/registry/pods/', { limit: 10 }, signal());
    expect(first.objects).toHaveLength(10);
    expect(first.remaining).toBe(15);
    const taken = first.objects.map((object) => object.key);
    await committed(store.write(create(pod('p11a')), signal()));
    await committed(
      store.write(remove(pod('p34'), (await store.get(pod('p34'), signal()))?.resourceVersion ?? 0), signal()),
    );
    let next = first.next;
    while (next !== undefined) {
      const page = await store.list(
        '/registry/pods/',
        { limit: 10, startKey: next, revision: first.revision },
        signal(),
      );
      expect(page.revision).toBe(first.revision);
      append(
        taken,
        page.objects.map((object) => object.key),
      );
      next = page.next;
    }
    expect(taken).toEqual(Array.from({ length: 25 }, (_, i) => pod(`p${10 + i}`)));
  });

  it('says that a compacted revision is gone', async () => {
    const { fixture, store } = context();
    const first = await committed(store.write(create(pod('a')), signal()));
    const second = await committed(store.write(update(pod('a'), first), signal()));
    await fixture.compact(revisionOf(second));
    const past = store.list('/registry/', { revision: revisionOf(first) }, signal());
    await expect(past).rejects.toMatchObject({ code: 'compacted' });
  });

  it('knows a revision that is not older than any write that was answered before the question', async () => {
    const { fixture, store } = context();
    const other = fixture.createStore();
    for (let i = 0; i < 10; i++) {
      const version = await committed(other.write(create(pod(`p${i}`)), signal()));
      const answers = await Promise.all(Array.from({ length: 5 }, () => store.currentRevision(signal())));
      for (const revision of answers) expect(revision).toBeGreaterThanOrEqual(revisionOf(version));
    }
    await other.close(AbortSignal.timeout(30_000));
  });
}
