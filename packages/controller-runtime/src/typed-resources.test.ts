import { type Deployment, DEPLOYMENTS, type Pod, PODS } from '@gantry/objects';
import type { ObjectClient } from '@gantry/client';
import { describe, expectTypeOf, it } from 'vitest';
import type { Cache } from './cache.ts';

/** Never called: compiling it is the test. `tsc` reports a line that should not compile but does. */
async function misuse(cache: Cache, client: ObjectClient, deployment: Deployment): Promise<void> {
  const key = { namespace: 'a', name: 'b' };
  const { signal } = new AbortController();
  // @ts-expect-error a Deployment is not a Pod
  cache.get<Pod>(DEPLOYMENTS, key);
  // @ts-expect-error nor are several
  cache.list<Pod>(DEPLOYMENTS);
  // @ts-expect-error what is read has the type of its resource
  (await client.get(DEPLOYMENTS, key, signal)) satisfies Pod;
  // @ts-expect-error a Deployment cannot be created as a Pod
  await client.create(PODS, deployment, signal);
  // @ts-expect-error nor updated as one
  await client.update(PODS, deployment, signal);
  // @ts-expect-error the name of a resource alone says neither its kind nor its type
  cache.get({ group: '', version: 'v1', resource: 'pods' }, key);
}

describe('typed resources', () => {
  it('give and take objects of their own type', () => {
    expectTypeOf<Cache['get']>().toBeCallableWith(PODS, { namespace: 'a', name: 'b' });
    expectTypeOf(misuse).parameter(2).toEqualTypeOf<Deployment>();
    const read = (cache: Cache) => cache.get(PODS, { namespace: 'a', name: 'b' });
    expectTypeOf(read).returns.toEqualTypeOf<Pod | undefined>();
  });
});
