import type { KubeObject } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { createRegistry } from '../registry/create-registry.ts';
import { DELETE_AS_USUAL, deleteBody } from '../registry/contract/registry.ts';
import { startHarness, type Harness, jsonBody, patchBody, WRITE } from '../registry/testing.ts';
import { StatusError } from '@gantry/objects';

const ENFORCE = 'pod-security.kubernetes.io/enforce';

describe('admission', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness();
    await h.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
  });

  /** Waits until the cache has reached the write, since admission reads the cache. */
  const written = async <T>(work: Promise<T>): Promise<T> => {
    const outcome = await h.settle(work);
    expect(await h.settle(h.deps.cache.catchUp(1000, new AbortController().signal))).toBe(true);
    return outcome;
  };
  const patch = (resource: string, name: string, body: object, subresource = '') => {
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    const target = h.target(resource, name, { subresource });
    const type = 'application/strategic-merge-patch+json';
    return written(h.registry.patch(h.context(), target, patchBody(type, bytes), WRITE));
  };
  const pod = (name: string, spec: object = {}, metadata: object = {}): Promise<KubeObject> =>
    h.create('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, ...metadata },
      spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    });
  const configMap = (name: string, options: object = {}) =>
    h.create('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }, options);

  it('keeps the standing namespaces', async () => {
    for (const name of ['default', 'kube-system', 'kube-public']) {
      const work = h.registry.delete(h.context(), h.target('namespaces', name), deleteBody(DELETE_AS_USUAL));
      await expect(h.settle(work)).rejects.toMatchObject({ reason: name === 'default' ? 'Forbidden' : 'NotFound' });
    }
    const named = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system' } };
    await h.create('namespaces', named);
    const work = h.registry.delete(h.context(), h.target('namespaces', 'kube-system'), deleteBody(DELETE_AS_USUAL));
    await expect(h.settle(work)).rejects.toThrow('this namespace may not be deleted');
  });

  it('holds changes of pods from before a restriction to it', async () => {
    const debugger_ = { name: 'd', image: 'i', securityContext: { privileged: true } };
    await pod('old', { hostPID: true });
    await patch('namespaces', 'n', { metadata: { labels: { [ENFORCE]: 'baseline' } } });
    await patch('pods', 'old', { metadata: { labels: { a: 'b' } } });
    const violates = 'violates PodSecurity "baseline:latest"';
    await expect(patch('pods', 'old', { spec: { containers: [{ name: 'c', image: 'other' }] } })).rejects.toThrow(
      violates,
    );
    await pod('new');
    const debug = (container: object) =>
      patch('pods', 'new', { spec: { ephemeralContainers: [container] } }, 'ephemeralcontainers');
    await expect(debug(debugger_)).rejects.toThrow(violates);
    await debug({ name: 'd', image: 'i' });
  });

  it('refuses what a quota limits until it has been counted', async () => {
    const spec = { hard: { configmaps: '2' } };
    const quota = await h.create('resourcequotas', {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'q' },
      spec,
    });
    const report = (status: object) =>
      written(
        h.registry.update(
          h.context(),
          h.target('resourcequotas', 'q', { subresource: 'status' }),
          jsonBody({ ...quota, metadata: { ...quota.metadata, resourceVersion: undefined }, status }),
          WRITE,
        ),
      );
    await report({ hard: spec.hard });
    await expect(configMap('a')).rejects.toThrow('status unknown for quota: q, resources: configmaps');
    await report({ hard: spec.hard, used: { configmaps: '0' } });
    await configMap('a');
    // A dry run is checked but not charged.
    await configMap('b', { dryRun: true });
    await configMap('b');
    await expect(configMap('c', { dryRun: true })).rejects.toThrow('exceeded quota: q');
  });

  it('holds containers to the limits of their namespace', async () => {
    const limits = [{ type: 'Container', max: { cpu: '1' }, min: { cpu: '100m' } }];
    await written(
      h.create('limitranges', { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'l' }, spec: { limits } }),
    );
    const sized = (name: string, cpu: string) =>
      pod(name, { containers: [{ name: 'c', image: 'i', resources: { limits: { cpu } } }] });
    await sized('fits', '1');
    await expect(sized('big', '2')).rejects.toThrow('maximum cpu usage per Container is 1, but limit is 2');
    await expect(sized('small', '50m')).rejects.toThrow('minimum cpu usage per Container is 100m, but request is 50m');
  });

  it('lets pods run as accounts that exist, and mirror pods as none', async () => {
    await expect(pod('p', { serviceAccountName: 'missing' })).rejects.toThrow(
      'error looking up service account n/missing: serviceaccount "missing" not found',
    );
    const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' } };
    const volumes = [{ name: 'v', secret: { secretName: 's' } }];
    const nodeName = 'node';
    await expect(pod('p', { nodeName, volumes }, mirror)).rejects.toThrow('a mirror pod may not reference secrets');
    await expect(pod('p', { nodeName, serviceAccountName: 'default' }, mirror)).rejects.toThrow(
      'a mirror pod may not reference service accounts',
    );
  });

  it('asks the escalation check about each write', async () => {
    const asked: string[] = [];
    const registry = createRegistry({
      ...h.deps,
      escalationCheck: {
        check: ({ object, old }) => {
          asked.push(`${object.metadata.name} ${old === undefined ? 'created' : 'changed'}`);
          throw StatusError.forbidden({ group: '', resource: 'configmaps' }, '', 'refused');
        },
      },
    });
    const object = await configMap('a');
    const create = registry.create(
      h.context(),
      h.target('configmaps', ''),
      jsonBody({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'b' } }),
      WRITE,
    );
    await expect(h.settle(create)).rejects.toThrow('refused');
    const update = registry.update(
      h.context(),
      h.target('configmaps', 'a'),
      jsonBody({ ...object, data: { x: 'y' } }),
      WRITE,
    );
    await expect(h.settle(update)).rejects.toThrow('refused');
    expect(asked).toEqual(['b created', 'a changed']);
  });
});
