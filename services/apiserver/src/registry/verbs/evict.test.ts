import { type KubeObject, type PodDisruptionBudget, StatusError } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { jsonBody, startHarness, type Harness, WRITE } from '../testing.ts';

const LABELS = { app: 'a' };

let harness: Harness;

beforeEach(async () => {
  harness = await startHarness();
  await harness.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
});

async function setStatus(resource: string, object: KubeObject, status: object): Promise<KubeObject> {
  const target = harness.target(resource, object.metadata.name ?? '', { subresource: 'status' });
  const work = harness.registry.update(harness.context(), target, jsonBody({ ...object, status }), WRITE);
  return (await harness.settle(work)).response.object;
}

/** Creates a pod on a node, with the condition Ready and a phase. */
async function makePod(name: string, ready: 'True' | 'False', phase = 'Running'): Promise<void> {
  const made = await harness.create('pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: LABELS },
    spec: { nodeName: 'node', terminationGracePeriodSeconds: 30, containers: [{ name: 'c', image: 'i' }] },
  });
  await setStatus('pods', made, { phase, conditions: [{ type: 'Ready', status: ready }] });
}

async function makeBudget(name: string, status: object, spec: object = {}): Promise<void> {
  const made = await harness.create('poddisruptionbudgets', {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: { minAvailable: 1, selector: { matchLabels: LABELS }, ...spec },
  });
  const counts = { currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0, expectedPods: 1 };
  await setStatus('poddisruptionbudgets', made, { observedGeneration: 1, ...counts, ...status });
}

function evict(name: string, rest: object = {}): Promise<unknown> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, ...rest };
  const target = harness.target('pods', name, { subresource: 'eviction' });
  return harness.settle(harness.registry.create(harness.context(), target, jsonBody(eviction), WRITE));
}

async function read<T extends KubeObject>(resource: string, name: string): Promise<T> {
  const work = harness.registry.get(harness.context(), harness.target(resource, name), '');
  return (await harness.settle(work)).object as T;
}

function refusal(work: Promise<unknown>): Promise<StatusError> {
  return work.then(
    () => expect.fail('not refused'),
    (error: unknown) => (error instanceof StatusError ? error : expect.fail(String(error))),
  );
}

describe('an eviction', () => {
  it('without a budget marks the pod and deletes it with its grace period', async () => {
    await makePod('one', 'True');
    await evict('one', { deleteOptions: { gracePeriodSeconds: 7 } });
    const pod = await read<KubeObject & { status: { conditions: { type: string; reason?: string }[] } }>('pods', 'one');
    expect(pod.metadata.deletionGracePeriodSeconds).toBe(7);
    expect(pod.status.conditions.find(({ type }) => type === 'DisruptionTarget')?.reason).toBe('EvictionByEvictionAPI');
  });

  it('takes one disruption from the budget, and says so when it was the last', async () => {
    await makePod('one', 'True');
    await makeBudget('keep', { disruptionsAllowed: 1, currentHealthy: 2 });
    await evict('one');
    const { status } = await read<PodDisruptionBudget>('poddisruptionbudgets', 'keep');
    expect(status?.disruptionsAllowed ?? 0).toBe(0);
    expect(Object.keys(status?.disruptedPods ?? {})).toEqual(['one']);
    expect(status?.conditions?.map(({ type, status: is, reason }) => [type, is, reason])).toEqual([
      ['DisruptionAllowed', 'False', 'InsufficientPods'],
    ]);
  });

  it('is refused where the budget allows none, and leaves the pod alone', async () => {
    await makePod('one', 'True');
    await makeBudget('keep', {});
    const error = await refusal(evict('one'));
    expect(error.code).toBe(429);
    expect(error.details?.causes).toEqual([
      { reason: 'DisruptionBudget', message: 'The disruption budget keep needs 1 healthy pods and has 1 currently' },
    ]);
    expect((await read('pods', 'one')).metadata.deletionTimestamp).toBeUndefined();
  });

  it('waits for the controller of a budget that has changed', async () => {
    await makePod('one', 'True');
    await makeBudget('keep', { observedGeneration: 0, disruptionsAllowed: 1 });
    const error = await refusal(evict('one'));
    expect(error.details?.retryAfterSeconds).toBe(10);
  });

  it.each([
    ['the budget lets all unhealthy pods go', {}, { unhealthyPodEvictionPolicy: 'AlwaysAllow' }],
    ['enough others are healthy', { currentHealthy: 2, desiredHealthy: 2 }, {}],
  ])('of a pod that is not ready costs nothing when %s', async (_, status, spec) => {
    await makePod('one', 'False');
    await makeBudget('keep', status, spec);
    await evict('one');
    expect((await read('pods', 'one')).metadata.deletionTimestamp).toBeDefined();
  });

  it('of a pod that has not begun asks no budget, and leaves it its grace', async () => {
    await makePod('one', 'False', 'Pending');
    await makeBudget('keep', {});
    await evict('one');
    expect((await read('pods', 'one')).metadata.deletionTimestamp).toBeDefined();
  });

  it.each(['Succeeded', 'Failed'])('of a pod that has %s asks no budget, and takes it at once', async (phase) => {
    await makePod('one', 'False', phase);
    await makeBudget('keep', {});
    await evict('one');
    expect((await refusal(read('pods', 'one'))).reason).toBe('NotFound');
  });

  it('is refused under two budgets, and where the names differ', async () => {
    await makePod('one', 'True');
    await makeBudget('keep', { disruptionsAllowed: 1 });
    await makeBudget('also', { disruptionsAllowed: 1 });
    const error = await refusal(evict('one'));
    expect(error.message).toMatch(/more than one PodDisruptionBudget/);
    expect([error.code, error.reason]).toEqual([500, '']);
    expect((await refusal(evict('one', { metadata: { name: 'two' } }))).code).toBe(400);
  });

  it('that is only tried changes neither pod nor budget', async () => {
    await makePod('one', 'True');
    await makeBudget('keep', { disruptionsAllowed: 1 });
    await evict('one', { deleteOptions: { dryRun: ['All'] } });
    expect((await read('pods', 'one')).metadata.deletionTimestamp).toBeUndefined();
    expect((await read<PodDisruptionBudget>('poddisruptionbudgets', 'keep')).status?.disruptionsAllowed).toBe(1);
  });

  it('of many pods at once takes no more disruptions than the budget has', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `pod-${i}`);
    for (const name of names) await makePod(name, 'True');
    await makeBudget('keep', { disruptionsAllowed: 7, currentHealthy: 40, desiredHealthy: 33, expectedPods: 40 });
    const results = await Promise.all(
      names.map((name) =>
        evict(name).then(
          () => 'evicted',
          (error: unknown) => (error instanceof StatusError ? error.code : expect.fail(String(error))),
        ),
      ),
    );
    expect(results.filter((result) => result === 'evicted')).toHaveLength(7);
    expect(new Set(results)).toEqual(new Set(['evicted', 429]));
    const pods = await Promise.all(names.map((name) => read('pods', name)));
    const deleted = pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    const { status } = await read<PodDisruptionBudget>('poddisruptionbudgets', 'keep');
    expect(status?.disruptionsAllowed ?? 0).toBe(0);
    expect(Object.keys(status?.disruptedPods ?? {}).sort()).toEqual(
      deleted.map(({ metadata }) => metadata.name ?? '').sort(),
    );
  });

  it('may not ignore errors of the store', async () => {
    await makePod('one', 'True');
    const option = 'ignoreStoreReadErrorWithClusterBreakingPotential';
    const error = await refusal(evict('one', { deleteOptions: { [option]: true } }));
    expect([error.code, error.message]).toEqual([
      422,
      `Eviction.policy "one" is invalid: deleteOptions.${option}: Invalid value: true: can not be set for pod eviction, try after removing the option`,
    ]);
  });

  it('with another resource version than the pod has is a conflict', async () => {
    await makePod('one', 'True');
    const error = await refusal(evict('one', { deleteOptions: { preconditions: { resourceVersion: '1' } } }));
    expect(error.reason).toBe('Conflict');
  });
});
