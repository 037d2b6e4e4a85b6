import { isReason } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { startHarness, type Harness } from './testing.ts';
import { deleteBody, DELETE_AS_USUAL } from './contract/registry.ts';

let harness: Harness;

beforeEach(async () => {
  harness = await startHarness();
  await harness.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
});

describe.each(['attach', 'exec', 'portforward', 'proxy'])('pods/%s', (subresource) => {
  const target = () => harness.target('pods', 'one', { subresource });
  const refusal = (work: Promise<unknown>) => harness.settle(work.catch((error: unknown) => error));

  it('is not found without the pod, and told to be missing with it', async () => {
    const get = () => refusal(harness.registry.get(harness.context(), target(), ''));
    expect(isReason(await get(), 'NotFound')).toBe(true);
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    await harness.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'one' }, spec });
    expect(isReason(await get(), 'MethodNotAllowed')).toBe(true);
  });

  it('deletes no pod', async () => {
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    await harness.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'one' }, spec });
    const options = { ...DELETE_AS_USUAL, gracePeriodSeconds: 0 };
    const told = await refusal(harness.registry.delete(harness.context(), target(), deleteBody(options)));
    expect(isReason(told, 'MethodNotAllowed')).toBe(true);
    const pod = harness.registry.get(harness.context(), harness.target('pods', 'one'), '');
    expect((await harness.settle(pod)).object.metadata.deletionTimestamp).toBeUndefined();
  });
});
