import { resources } from '@gantry/kinds';
import type { KubeObject, Namespace, Pod, Service, StatusError } from '@gantry/objects';
import { must } from '@gantry/base';
import { silentLogger } from '@gantry/service';
import { beforeEach, describe, expect, it } from 'vitest';
import { bootstrapLoop } from '../loops/bootstrap/bootstrap.ts';
import { createLoopbackClient } from '../loopback-client.ts';
import { deleteBody, DELETE_AS_USUAL, type DeleteOptions, EVERYTHING } from './contract/registry.ts';
import { patchBody, jsonBody, startHarness, definitionOf, type Harness, WRITE } from './testing.ts';

const pod = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'nginx' }], ...spec },
});
const service = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});
const deployment = (name: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'a' } },
    template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'nginx' }] } },
  },
});

/** Runs the bootstrap of one apiserver until it is done. Then runs `act` while the loop continues. */
async function bootstrapped({ registry, deps, settle }: Harness, act = async () => undefined as void): Promise<void> {
  const stop = new AbortController();
  const done = Promise.withResolvers<void>();
  const loop = bootstrapLoop({
    ...deps,
    resources,
    client: createLoopbackClient(registry),
    serviceCidr: deps.settings.serviceCidr,
    onDone: done.resolve,
    logger: silentLogger,
  });
  const running = loop.run(stop.signal);
  await settle(done.promise);
  await act();
  stop.abort();
  await running;
}

describe('the generic registry on kinds of their own ways', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness();
    await h.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
  });

  const failure = (work: Promise<unknown>) => h.failure(work);
  const get = async <T extends KubeObject>(resource: string, name: string, subresource = '') =>
    (await h.settle(h.registry.get(h.context(), h.target(resource, name, { subresource }), ''))).object as T;
  const update = async (resource: string, object: KubeObject, subresource = '') => {
    const target = h.target(resource, object.metadata.name ?? '', { subresource });
    return (await h.settle(h.registry.update(h.context(), target, jsonBody(object), WRITE))).response.object;
  };
  const remove = (resource: string, name: string, options: Partial<DeleteOptions> = {}) =>
    h.settle(h.registry.delete(h.context(), h.target(resource, name), deleteBody({ ...DELETE_AS_USUAL, ...options })));
  const post = (resource: string, name: string, subresource: string, body: object) =>
    h.settle(h.registry.create(h.context(), h.target(resource, name, { subresource }), jsonBody(body), WRITE));

  it('lets a pod run as a service account with its token, tolerations and a priority', async () => {
    const { spec } = (await h.create('pods', pod('a'))) as Pod;
    expect(spec?.serviceAccountName).toBe('default');
    expect(spec?.volumes?.[0]?.projected?.sources?.[0]?.serviceAccountToken?.expirationSeconds).toBe(3607);
    expect(spec?.containers[0]?.volumeMounts?.[0]?.mountPath).toBe('/var/run/secrets/kubernetes.io/serviceaccount');
    expect(spec?.tolerations?.map((one) => one.tolerationSeconds)).toEqual([5, 5]);
    expect(spec?.priority).toBe(0);
    const error = await failure(h.create('pods', pod('b', { serviceAccountName: 'x' })));
    expect(error.message).toBe(
      'pods "b" is forbidden: error looking up service account n/x: serviceaccount "x" not found',
    );
  });

  it("writes the values of a new pod's label keys into its terms of affinity, and leaves them as they are then", async () => {
    const term = {
      topologyKey: 'zone',
      labelSelector: { matchLabels: { app: 'a' } },
      matchLabelKeys: ['hash'],
      mismatchLabelKeys: ['tenant'],
    };
    const required = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
    const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }] };
    const affinity = { podAffinity: { ...required, ...preferred }, podAntiAffinity: { ...required, ...preferred } };
    const labels = { hash: '1', tenant: 't' };
    const written = { ...pod('a', { affinity }), metadata: { name: 'a', labels } };
    const termsOf = ({ spec }: Pod) =>
      [spec?.affinity?.podAffinity, spec?.affinity?.podAntiAffinity].flatMap((one) => [
        ...(one?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
        ...(one?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
      ]);
    const expected = [
      { key: 'hash', operator: 'In', values: ['1'] },
      { key: 'tenant', operator: 'NotIn', values: ['t'] },
    ];
    const created = (await h.create('pods', written)) as Pod;
    expect(termsOf(created).map(({ labelSelector }) => labelSelector?.matchExpressions)).toEqual(
      Array.from({ length: 4 }, () => expected),
    );
    const relabelled = { ...created, metadata: { ...created.metadata, labels: { hash: '2' } } };
    expect(termsOf((await update('pods', relabelled)) as Pod)).toEqual(termsOf(created));
  });

  it('binds a pod once, and lets an unbound pod go at once and a bound one after its grace period', async () => {
    await h.create('pods', pod('a'));
    await h.create('pods', pod('b'));
    const binding = (name: string) => ({
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name },
      target: { kind: 'Node', name: 'x' },
    });
    await post('pods', 'a', 'binding', binding('a'));
    expect((await get<Pod & KubeObject>('pods', 'a')).spec?.nodeName).toBe('x');
    const again = await failure(post('pods', 'a', 'binding', binding('a')));
    expect(again.message).toBe(
      'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "x"',
    );
    expect((await remove('pods', 'b')).gone).toBe(true);
    const first = await remove('pods', 'a');
    expect(first.gone).toBe(false);
    expect(first.response.object.metadata.deletionGracePeriodSeconds).toBe(30);
    expect((await remove('pods', 'a')).gone).toBe(false);
    expect((await remove('pods', 'a', { gracePeriodSeconds: 0 })).gone).toBe(true);
    expect((await failure(get('pods', 'a'))).reason).toBe('NotFound');
  });

  it('lets a namespace go when its finalizers are gone, and nothing new into it before', async () => {
    await h.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'm' } });
    expect((await remove('namespaces', 'm')).gone).toBe(false);
    const body = jsonBody({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late' } });
    const target = h.target('configmaps', '', { namespace: 'm' });
    const late = await failure(h.registry.create(h.context(), target, body, WRITE));
    expect(late.message).toBe(
      'configmaps "late" is forbidden: unable to create new content in namespace m because it is being terminated',
    );
    const stored = await get<Namespace & KubeObject>('namespaces', 'm');
    expect(stored.status?.phase).toBe('Terminating');
    await update('namespaces', { ...stored, spec: { finalizers: [] } } as KubeObject, 'finalize');
    expect((await failure(get('namespaces', 'm'))).reason).toBe('NotFound');
    expect((await failure(remove('namespaces', 'default'))).message).toBe(
      'namespaces "default" is forbidden: this namespace may not be deleted',
    );
  });

  it('lets nothing into a namespace whose end this apiserver has not heard of', async () => {
    const other = await startHarness({ etcd: h.store.etcd, seed: 9 });
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'm' } };
    const stored = await h.create('namespaces', namespace);
    await other.settle(other.deps.cache.catchUp(1000, new AbortController().signal));
    h.store.etcd.silenceWatches();
    const body = jsonBody({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late' } });
    const late = () =>
      other.settle(
        other.registry
          .create(other.context(), other.target('configmaps', '', { namespace: 'm' }), body, WRITE)
          .then(({ object }) => object.metadata.name)
          .catch((error: unknown) => (error as StatusError).message),
      );
    await update('namespaces', { ...stored, metadata: { ...stored.metadata, labels: { seen: 'later' } } });
    expect(await late()).toBe('late');
    await remove('namespaces', 'm');
    expect(await late()).toBe(
      'configmaps "late" is forbidden: unable to create new content in namespace m because it is being terminated',
    );
    const ending = await get<Namespace>('namespaces', 'm');
    await update('namespaces', { ...ending, spec: { finalizers: [] } } as KubeObject, 'finalize');
    expect(await late()).toBe('namespaces "m" not found');
    h.store.etcd.resumeWatches();
  });

  it('scales through the scale subresource and raises the generation', async () => {
    await h.create('deployments', deployment('d'));
    const scale = await get<KubeObject & { spec: { replicas: number } }>('deployments', 'd', 'scale');
    expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 2 }, status: { selector: 'app=a' } });
    const response = await update('deployments', { ...scale, spec: { replicas: 5 } } as KubeObject, 'scale');
    expect(response).toMatchObject({ kind: 'Scale', spec: { replicas: 5 } });
    const patch = new TextEncoder().encode('{"spec":{"replicas":1}}');
    const target = h.target('deployments', 'd', { subresource: 'scale' });
    await h.settle(h.registry.patch(h.context(), target, patchBody('application/merge-patch+json', patch), WRITE));
    expect(await get('deployments', 'd')).toMatchObject({ metadata: { generation: 3 }, spec: { replicas: 1 } });
  });

  it('refuses an object that is too large to store, and has stored nothing of it', async () => {
    const large = deployment('d');
    const [container] = large.spec.template.spec.containers;
    Object.assign(container ?? {}, { env: [{ name: 'X', value: 'x'.repeat(1_600_000) }] });
    const error = await failure(h.create('deployments', large));
    expect(error.code).toBe(413);
    expect(error.message).toBe('Request entity too large: limit is 1572864');
    expect((await failure(get('deployments', 'd'))).reason).toBe('NotFound');
  });

  it('keeps status and the rest apart', async () => {
    const made = await h.create('deployments', { ...deployment('d'), status: { replicas: 9 } });
    expect((made as KubeObject & { status: object }).status).toEqual({});
    const status = await update('deployments', { ...made, spec: {}, status: { replicas: 1 } } as KubeObject, 'status');
    expect(status).toMatchObject({ metadata: { generation: 1 }, spec: { replicas: 2 }, status: { replicas: 1 } });
  });

  it('gives each service an address and ports of its own, and takes them back', async () => {
    const one = (await h.create('services', service('one', { type: 'NodePort' }))) as Service;
    const two = (await h.create('services', service('two'))) as Service;
    expect(one.spec?.clusterIP).toMatch(/^10\.96\./);
    expect(two.spec?.clusterIP).not.toBe(one.spec?.clusterIP);
    const nodePort = one.spec?.ports?.[0]?.nodePort ?? 0;
    expect(nodePort).toBeGreaterThanOrEqual(30_000);
    const clusterIP = one.spec?.clusterIP ?? '';
    const ip = await failure(h.create('services', service('three', { clusterIP })));
    expect(ip.message).toBe(
      `Service "three" is invalid: spec.clusterIPs: Invalid value: ["${clusterIP}"]: failed to allocate IP ${clusterIP}: provided IP is already allocated`,
    );
    const port = await failure(
      h.create('services', service('three', { type: 'NodePort', ports: [{ port: 80, nodePort }] })),
    );
    expect(port.message).toBe(
      `Service "three" is invalid: spec.ports[0].nodePort: Invalid value: ${nodePort}: provided port is already allocated`,
    );
    expect((await remove('services', 'one')).gone).toBe(true);
    const reused = await h.create(
      'services',
      service('three', { type: 'NodePort', clusterIP, ports: [{ port: 80, nodePort }] }),
    );
    expect((reused as Service).spec?.clusterIP).toBe(clusterIP);
  });

  it('keeps allocated ports over a replacement and gives them back when the type needs none', async () => {
    await h.create('services', service('one', { type: 'NodePort' }));
    const replaced = (await update('services', service('one', { type: 'NodePort' }))) as Service;
    const nodePort = replaced.spec?.ports?.[0]?.nodePort ?? 0;
    expect(nodePort).toBeGreaterThanOrEqual(30_000);
    const plain = (await update('services', service('one', { ports: [{ port: 80, nodePort }] }))) as Service;
    expect(plain.spec?.ports?.[0]?.nodePort).toBeUndefined();
    const next = await h.create('services', service('two', { type: 'NodePort', ports: [{ port: 80, nodePort }] }));
    expect((next as Service).spec?.ports?.[0]?.nodePort).toBe(nodePort);
  });

  it('never gives the same address twice from two apiservers at once', async () => {
    const other = await startHarness({ etcd: h.store.etcd, seed: 7 });
    const names = Array.from({ length: 10 }, (_, i) => i);
    const made = await Promise.all([
      h.settle(Promise.all(names.map((i) => h.create('services', service(`a${i}`))))),
      other.settle(Promise.all(names.map((i) => other.create('services', service(`b${i}`))))),
    ]);
    const addresses = made.flat().map((one) => (one as Service).spec?.clusterIP);
    expect(new Set(addresses).size).toBe(20);
  });

  it('issues tokens for accounts that exist, bound to pods that run as them', async () => {
    const made = await h.create('pods', pod('a'));
    const request = (spec: object) => ({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: {},
      spec,
    });
    const response = await post(
      'serviceaccounts',
      'default',
      'token',
      request({
        audiences: ['x'],
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'a', uid: made.metadata.uid },
      }),
    );
    expect(response.object).toMatchObject({ kind: 'TokenRequest', status: { token: 'token of n/default' } });
    const usual = await post('serviceaccounts', 'default', 'token', request({ audiences: [] }));
    expect(usual.object).toMatchObject({ spec: { audiences: ['https://kubernetes.default.svc'] } });
    const short = await failure(
      post('serviceaccounts', 'default', 'token', request({ audiences: [], expirationSeconds: 5 })),
    );
    expect(short.code).toBe(422);
    expect((await failure(post('serviceaccounts', 'x', 'token', request({})))).reason).toBe('NotFound');
  });

  it('says who asks', async () => {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} };
    expect(await h.create('selfsubjectreviews', review)).toMatchObject({
      status: { userInfo: { username: 'kubernetes-admin' } },
    });
  });

  it('records an Event about an address that two stored Services hold, one from all apiservers', async () => {
    await h.create('services', service('first', { clusterIP: '10.96.7.7' }));
    const key = '/gantry/allocations/addresses/10.96.7.7';
    const signal = new AbortController().signal;
    const claim = must(await h.settle(h.store.get(key, signal)), 'the claim');
    const gone = { key, expected: claim.resourceVersion, value: null, writer: { name: 'test' } };
    await h.settle(h.store.write(gone, signal));
    await h.create('services', service('second', { clusterIP: '10.96.7.7' }));
    const other = await startHarness({ etcd: h.store.etcd, seed: 8 });
    await Promise.all([bootstrapped(h), bootstrapped(other)]);
    const events = await h.settle(
      h.registry.list(h.context(), definitionOf('events'), { ...EVERYTHING, namespace: 'n' }),
    );
    expect(events.items.map(({ object }) => object)).toMatchObject([
      {
        involvedObject: { kind: 'Service', name: 'first' },
        type: 'Warning',
        reason: 'ClusterIPAlreadyAllocated',
        message: 'Cluster IP 10.96.7.7 was assigned to multiple services; please recreate service',
      },
    ]);
  });

  it('creates a standing namespace again that a user has deleted', async () => {
    await bootstrapped(h, async () => {
      const first = await get<Namespace>('namespaces', 'kube-node-lease');
      await remove('namespaces', 'kube-node-lease');
      const emptied = { ...(await get<Namespace>('namespaces', 'kube-node-lease')), spec: { finalizers: [] } };
      await update('namespaces', emptied, 'finalize');
      await h.settle(
        expect
          .poll(() =>
            get('namespaces', 'kube-node-lease').then(
              ({ metadata }) => metadata.uid,
              () => '',
            ),
          )
          .toMatch(new RegExp(`^(?!${first.metadata.uid ?? ''}).`)),
      );
    });
  });

  it('makes what every cluster has, from two apiservers at once', async () => {
    const other = await startHarness({ etcd: h.store.etcd, seed: 9 });
    await Promise.all([bootstrapped(h), bootstrapped(other)]);
    const target = h.target('services', 'kubernetes', { namespace: 'default' });
    const { object } = await h.settle(h.registry.get(h.context(), target, ''));
    expect(object).toMatchObject({ spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443 }] } });
    const names = h.target('services', 'kube-dns', { namespace: 'kube-system' });
    const dns = await h.settle(h.registry.get(h.context(), names, ''));
    expect(dns.object).toMatchObject({ spec: { clusterIP: '10.96.0.10', ports: [{ port: 53 }, { port: 53 }, {}] } });
  });

  it('starts without the Service of the DNS where another one has its address', async () => {
    await h.create('services', service('taken', { clusterIP: '10.96.0.10' }));
    await bootstrapped(h);
    const names = h.target('services', 'kube-dns', { namespace: 'kube-system' });
    await expect(h.settle(h.registry.get(h.context(), names, ''))).rejects.toThrow('not found');
  });
});
