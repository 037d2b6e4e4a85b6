import { type KubeObject, type ResourceQuota, parseQuantity } from '@gantry/objects';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jsonBody, createHarness, type Harness, WRITE } from '../../registry/testing.ts';

describe('quotas', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await createHarness();
  });
  afterEach(async () => {
    await h.stop();
  });

  async function quota(hard: Record<string, string>): Promise<void> {
    const spec = { hard };
    const made = await h.create('resourcequotas', {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'q' },
      spec,
    });
    const used = Object.fromEntries(Object.keys(hard).map((name) => [name, '0']));
    const target = h.target('resourcequotas', 'q', { subresource: 'status' });
    const body = jsonBody({ ...made, status: { hard, used } });
    await h.settle(h.registry.update(h.context(), target, body, WRITE));
  }
  const used = async () =>
    ((await h.settle(h.registry.get(h.context(), h.target('resourcequotas', 'q'), ''))).object as ResourceQuota).status
      ?.used;
  const configMap = (name: string): Promise<KubeObject> =>
    h.create('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
  const pod = (name: string, resources: object) =>
    h.create('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'x', resources }] },
    });

  it('count objects up to the limit, and no further', async () => {
    await quota({ configmaps: '2', 'count/configmaps': '5' });
    await configMap('a');
    await configMap('b');
    await expect(configMap('c')).rejects.toThrow(
      'configmaps "c" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2',
    );
    expect(await used()).toEqual({ configmaps: '2', 'count/configmaps': '2' });
  });

  it('are exact when many ask at once', async () => {
    await quota({ configmaps: '5' });
    const asked = Array.from({ length: 12 }, (_, i) =>
      configMap(`c${i}`).then(
        () => 'made',
        () => 'refused',
      ),
    );
    const outcomes = await Promise.all(asked);
    expect(outcomes.filter((one) => one === 'made').length).toBe(5);
    expect(await used()).toEqual({ configmaps: '5' });
  });

  it('want containers to say what they need of what is limited', async () => {
    await h.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
    await quota({ pods: '2', 'requests.cpu': '1', 'limits.memory': '1Gi' });
    await expect(pod('none', {})).rejects.toThrow(
      'pods "none" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c',
    );
    const resources = { requests: { cpu: '600m' }, limits: { memory: '512Mi' } };
    await pod('fits', resources);
    await expect(pod('big', resources)).rejects.toThrow(
      'exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1',
    );
    const now = await used();
    expect(parseQuantity(now?.['limits.memory'] ?? '')).toEqual(parseQuantity('512Mi'));
    expect(now).toMatchObject({ pods: '1', 'requests.cpu': '600m', 'limits.memory': '512Mi' });
  });
});
