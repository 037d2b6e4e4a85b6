import { type KubeObject, type ResourceQuota, StatusError, parseQuantity } from '@gantry/objects';
import { seededRandom } from '@gantry/base';
import { beforeEach, describe, expect, it } from 'vitest';
import { createRegistry, EVERYTHING, type Registry } from '../../registry/index.ts';
import { jsonBody, startHarness, definitionOf, type Harness, WRITE } from '../../registry/testing.ts';

describe('quotas', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness();
  });

  async function quota(hard: Record<string, string>, name = 'q'): Promise<void> {
    const spec = { hard };
    const made = await h.create('resourcequotas', {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name },
      spec,
    });
    const used = Object.fromEntries(Object.keys(hard).map((what) => [what, '0']));
    const target = h.target('resourcequotas', name, { subresource: 'status' });
    const body = jsonBody({ ...made, status: { hard, used } });
    await h.settle(h.registry.update(h.context(), target, body, WRITE));
  }
  const used = async (name = 'q') =>
    ((await h.settle(h.registry.get(h.context(), h.target('resourcequotas', name), ''))).object as ResourceQuota).status
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

  describe('while their controller counts', () => {
    const MANAGER = '/gantry/elections/kube-controller-manager';
    const signal = new AbortController().signal;
    /** Writes the usage that the quota controller has counted. */
    const count = async (amounts: Record<string, string>): Promise<void> => {
      const put = (key: string) => ({ kind: 'put', key, value: Buffer.from('i') }) as const;
      const { etcd } = h.store;
      await etcd.transact(
        { compare: [], success: [put(MANAGER), put('/gantry/incarnation')], failure: [] },
        { signal },
      );
      const epoch = (await etcd.range({ key: MANAGER }, { signal })).kvs[0]?.createRevision ?? 0;
      const fence = { electionKey: MANAGER, epoch, incarnation: 'i', cacheRevision: epoch };
      const user = { name: 'system:kube-controller-manager', uid: '', groups: [], extra: {} };
      const read = await h.registry.get(h.context(), h.target('resourcequotas', 'q'), '');
      const object = { ...read.object, status: { ...(read.object as ResourceQuota).status, used: amounts } };
      const target = h.target('resourcequotas', 'q', { subresource: 'status' });
      await h.registry.update(h.context({ user, fence }), target, jsonBody(object), WRITE);
    };
    const stored = async () =>
      (await h.settle(h.registry.list(h.context(), definitionOf('configmaps'), EVERYTHING))).items.length;
    /** An apiserver that is interrupted just before it stores its first config map. */
    const interrupted = (meanwhile: () => Promise<void>, key = '/registry/configmaps/n/slow'): Registry => {
      let times = 0;
      const { store } = h;
      return createRegistry({
        ...h.deps,
        store: {
          get: (...args) => store.get(...args),
          list: (...args) => store.list(...args),
          currentRevision: (...args) => store.currentRevision(...args),
          watch: (...args) => store.watch(...args),
          requestProgress: () => store.requestProgress(),
          write: async (write, end) => {
            if (write.key === key && ++times === 1) await meanwhile();
            return store.write(write, end);
          },
        },
      });
    };
    const slowCreate = (registry: Registry) => {
      const body = jsonBody({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'slow' } });
      return h.settle(registry.create(h.context(), h.target('configmaps', ''), body, WRITE));
    };

    it('let no object in whose charge was given back before it was stored', async () => {
      await quota({ configmaps: '1' });
      const slow = interrupted(async () => {
        expect(await h.registry.get(h.context(), h.target('resourcequotas', 'q'), '')).toMatchObject({
          object: { status: { used: { configmaps: '1' } } },
        });
        await count({ configmaps: '0' });
        await configMap('fast');
      });
      await expect(slowCreate(slow)).rejects.toThrow('exceeded quota');
      expect(await stored()).toBe(1);
      expect(await used()).toEqual({ configmaps: '1' });
      await expect(configMap('more')).rejects.toThrow('exceeded quota');
    });

    it('charge an object again whose charge was given back before it was stored', async () => {
      await quota({ configmaps: '2' });
      const slow = interrupted(async () => {
        await count({ configmaps: '0' });
        await configMap('fast');
      });
      await slowCreate(slow);
      expect(await stored()).toBe(2);
      expect(await used()).toEqual({ configmaps: '2' });
    });

    it('are charged once by an object that is attempted again as another one gave its charge back', async () => {
      await quota({ configmaps: '2' });
      await quota({ configmaps: '1', 'count/configmaps': '1' }, 'other');
      const slow = interrupted(() => count({ configmaps: '0' }));
      await slowCreate(slow);
      expect(await stored()).toBe(1);
      expect(await used()).toEqual({ configmaps: '1' });
      expect(await used('other')).toEqual({ configmaps: '1', 'count/configmaps': '1' });
    });

    it('charge a Job again that has the labels of its uid by then', async () => {
      const job = (name: string): object => {
        const spec = { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] };
        return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec: { template: { spec } } };
      };
      const create = (registry: Registry, name: string) =>
        registry.create(h.context(), h.target('jobs', ''), jsonBody(job(name)), WRITE);
      await quota({ 'count/jobs.batch': '2' });
      const slow = interrupted(async () => {
        await count({ 'count/jobs.batch': '0' });
        await h.settle(create(h.registry, 'fast'));
      }, '/registry/batch/jobs/n/slow');
      await h.settle(create(slow, 'slow'));
      expect(await used()).toEqual({ 'count/jobs.batch': '2' });
    });

    it('keep the charge of an object that the controller had not seen', async () => {
      await quota({ configmaps: '2' });
      await configMap('a');
      await h.settle(count({ configmaps: '0' }));
      expect(await used()).toEqual({ configmaps: '1' });
    });

    it('keep the charge of a failed creation, which a recount gives back', async () => {
      await quota({ configmaps: '1' });
      const failing = interrupted(() => Promise.reject(StatusError.unavailable('down')));
      await expect(slowCreate(failing)).rejects.toThrow('down');
      expect(await used()).toEqual({ configmaps: '1' });
      await h.settle(count({ configmaps: '0' }));
      expect(await used()).toEqual({ configmaps: '0' });
      await configMap('a');
      expect(await used()).toEqual({ configmaps: '1' });
    });
  });

  it('are charged once by an object whose first generated name is in use', async () => {
    await quota({ configmaps: '3' });
    const generated = (of: Harness['deps'], name: object) =>
      h.settle(
        createRegistry(of).create(
          h.context(),
          h.target('configmaps', ''),
          jsonBody({ apiVersion: 'v1', kind: 'ConfigMap', metadata: name }),
          WRITE,
        ),
      );
    const first = await generated({ ...h.deps, random: seededRandom(3) }, { generateName: 'c-' });
    const second = await generated({ ...h.deps, random: seededRandom(3) }, { generateName: 'c-' });
    expect(second.object.metadata.name).not.toBe(first.object.metadata.name);
    expect(await used()).toEqual({ configmaps: '2' });
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
