import type { ObjectMeta, Pod, PodDisruptionBudget, PodSpec } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { newLosses, planDrain } from './drain-plan.ts';

const owner = (kind: string) => ({
  ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'u', controller: true }],
});
const pod = (metadata: ObjectMeta, spec: PodSpec = { containers: [] }, phase = 'Running'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n', ...metadata },
  spec,
  status: { phase },
});
const plan = (one: Pod, budgets: readonly PodDisruptionBudget[] = []) => planDrain([one], budgets)[0];

describe('planDrain', () => {
  it('evicts pods whose controller makes them again', () =>
    expect(plan(pod(owner('ReplicaSet')))).toMatchObject({ action: 'evict', note: '', isLoss: false }));

  it('leaves pods of DaemonSets and static pods', () => {
    expect(plan(pod(owner('DaemonSet')))?.action).toBe('stays');
    const mirror = pod({ annotations: { 'kubernetes.io/config.mirror': 'x' } });
    expect(plan(mirror)?.action).toBe('stays');
  });

  it('says what is lost: pods without a controller, and emptyDirs', () => {
    expect(plan(pod({}))).toMatchObject({ isLoss: true, note: 'no controller will make it again' });
    const scratch = pod(owner('ReplicaSet'), { containers: [], volumes: [{ name: 'cache', emptyDir: {} }] });
    expect(plan(scratch)).toMatchObject({ isLoss: true, note: 'its emptyDir cache is lost' });
    expect(plan(pod({}, undefined, 'Succeeded'))?.isLoss).toBe(false);
  });

  it('says which budget makes an eviction wait', () => {
    const budget = (labels: Record<string, string>, disruptionsAllowed: number): PodDisruptionBudget => ({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'b', namespace: 'n' },
      spec: { selector: { matchLabels: labels } },
      status: { disruptionsAllowed },
    });
    const one = pod({ ...owner('ReplicaSet'), labels: { app: 'web' } });
    expect(plan(one, [budget({ app: 'web' }, 0)])?.note).toContain('budget b allows no eviction now');
    expect(plan(one, [budget({ app: 'web' }, 1)])?.note).toBe('');
    expect(plan(one, [budget({ app: 'db' }, 0)])?.note).toBe('');
  });
});

describe('newLosses', () => {
  const alone = (uid: string) => pod({ uid, name: uid });
  const owned = (uid: string) => pod({ uid, name: uid, ...owner('ReplicaSet') });

  it('names pods that have come since, and those that have become a loss, and no others', () => {
    const seen = planDrain([alone('a'), owned('b')], []);
    expect(newLosses(seen, planDrain([alone('a'), owned('b'), owned('c')], []))).toEqual([]);
    expect(newLosses(seen, planDrain([alone('b'), alone('d')], []))).toEqual(['n/b', 'n/d']);
  });
});
