import { AssertionError, must } from '@gantry/base';
import { createHttpClient, type HttpClient, type LeaseFence, type ObjectWrite, parseKubeconfig } from '@gantry/client';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  type Deployment,
  DEPLOYMENTS,
  isLeadershipEnded,
  isReason,
  keyOf,
  type KubeObject,
  type Lease,
  LEASES,
  NODES,
  type Pod,
  PODS,
  POD_DISRUPTION_BUDGETS,
  SERVICE_ACCOUNTS,
  StatusError,
} from '@gantry/objects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectStore } from '../storage/object-store.ts';
import { kubeconfigOf, startApiServer, type TestApiServer } from './start-api-server.ts';
import { createTestPki, type TestPki } from './test-pki.ts';

/** Stores over one etcd, empty at the start. */
export interface SharedStores extends AsyncDisposable {
  open(): Promise<ObjectStore>;
}

/** Holds the events of a store back, as a slow connection to etcd does: the cache of its API server stays behind. */
class Brake {
  #held: PromiseWithResolvers<void> | undefined;

  pull(): Disposable {
    const held = Promise.withResolvers<void>();
    this.#held = held;
    return { [Symbol.dispose]: () => held.resolve() };
  }

  on(store: ObjectStore): ObjectStore {
    return {
      get: (key, signal) => store.get(key, signal),
      list: (prefix, options, signal) => store.list(prefix, options, signal),
      currentRevision: (signal) => store.currentRevision(signal),
      write: (write, signal) => store.write(write, signal),
      requestProgress: () => store.requestProgress(),
      watch: (revision, signal) => this.#watch(store, revision, signal),
    };
  }

  async *#watch(store: ObjectStore, revision: number, signal: AbortSignal): ReturnType<ObjectStore['watch']> {
    for await (const item of store.watch(revision, signal)) {
      await this.#held?.promise;
      yield item;
    }
  }
}

const { signal } = new AbortController();
const NAMESPACE = 'default';
/** A race without an end has failed. */
const MOST_WRITES = 1000;
const SPEC = { holderIdentity: 'one', leaseDurationSeconds: 1, leaseTransitions: 3 };

/** Writes over REST with the header of a leader that a Lease elected, to two API servers over one etcd. */
export function describeLeaseFences(name: string, openStores: () => Promise<SharedStores>): void {
  describe(name, () => {
    const stack = new AsyncDisposableStack();
    const brake = new Brake();
    let pki: TestPki;
    let server: TestApiServer;
    let client: HttpClient;
    /** Of the API server whose cache stays behind while the brake is pulled. */
    let behind: HttpClient;
    let count = 0;
    const named = (prefix: string) => ({ namespace: NAMESPACE, name: `${prefix}-${(count += 1)}` });
    const configMap = (): KubeObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: named('c') });
    const creation = (fence: LeaseFence): ObjectWrite => {
      return { verb: 'create', resource: CONFIG_MAPS, namespace: NAMESPACE, object: configMap(), fence };
    };
    const elect = async (spec: Lease['spec'] = SPEC): Promise<LeaseFence> => {
      const metadata = named('lease');
      const lease: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
      const { uid = '' } = (await client.create(LEASES, lease, signal)).metadata;
      return { ...metadata, uid, holder: spec?.holderIdentity ?? '', transitions: spec?.leaseTransitions ?? 0 };
    };
    const change = (fence: LeaseFence, spec: Lease['spec']) => client.patch(LEASES, fence, { merge: { spec } }, signal);
    const renew = (fence: LeaseFence) => change(fence, { renewTime: new Date().toISOString().replace('Z', '000Z') });
    const takeOver = (fence: LeaseFence) => change(fence, { holderIdentity: 'two', leaseTransitions: 4 });
    const send = (fence: string, method: 'POST' | 'GET' = 'POST', of: HttpClient = client) => {
      const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
      const body = method === 'GET' ? {} : { body: JSON.stringify(configMap()) };
      return of.raw({ method, path, headers: { 'gantry-fence': fence }, ...body }, signal);
    };
    beforeAll(async () => {
      const stores = stack.use(await openStores());
      pki = await createTestPki(Date.now());
      server = stack.use(await startApiServer({ pki, store: await stores.open() }));
      const other = stack.use(await startApiServer({ pki, store: brake.on(await stores.open()) }));
      const clientOf = ({ kubeconfig }: TestApiServer) =>
        stack.use(createHttpClient({ ...parseKubeconfig(kubeconfig), fieldManager: 'test' }));
      client = clientOf(server);
      behind = clientOf(other);
    });
    afterAll(async () => {
      await stack.disposeAsync();
    });

    it('refuses a delayed write of a former term at an API server that has not seen the new one', async () => {
      const fence = await elect();
      await behind.write(creation(fence), signal);
      using _ = brake.pull();
      await takeOver(fence);
      const late = creation(fence);
      await expect(behind.write(late, signal)).rejects.toThrow(
        `the leadership of "one" in term 3 of the Lease ${NAMESPACE}/${fence.name} has ended: the write was refused`,
      );
      const stored = client.get(CONFIG_MAPS, keyOf(must('object' in late ? late.object : undefined, 'object')), signal);
      await expect(stored).rejects.toSatisfy((error) => isReason(error, 'NotFound'));
    });

    it('stores a write of a new term at an API server that has not seen it', async () => {
      const fence = await elect();
      await behind.write(creation(fence), signal);
      using _ = brake.pull();
      await takeOver(fence);
      await behind.write(creation({ ...fence, holder: 'two', transitions: 4 }), signal);
      await behind.write(creation(await elect()), signal);
    });

    it('stores a write although renewals come in between', async () => {
      const fence = await elect();
      using _ = brake.pull();
      await renew(fence);
      await behind.write(creation(fence), signal);
      let isOver = false;
      const renewing = (async () => {
        while (!isOver) await renew(fence);
      })();
      for (let round = 0; round < 10; round++) {
        await Promise.all([client, behind].map((of) => of.write(creation(fence), signal)));
      }
      isOver = true;
      await renewing;
    });

    it('stores nothing of a term after the revision at which it ended', async () => {
      const fence = await elect();
      const first = Promise.withResolvers<void>();
      await behind.write(creation(fence), signal);
      using _ = brake.pull();
      const writeUntilRefused = async (of: HttpClient): Promise<readonly number[]> => {
        const versions: number[] = [];
        while (versions.length < MOST_WRITES) {
          const written = await of.write(creation(fence), signal).catch((error: unknown) => {
            if (isLeadershipEnded(error)) return undefined;
            throw error;
          });
          if (written === undefined) return versions;
          versions.push(Number(written.metadata.resourceVersion));
          first.resolve();
        }
        throw new AssertionError('no write was refused');
      };
      const writing = Promise.all([client, behind, client, behind].map(writeUntilRefused));
      const ended = (async () => {
        await first.promise;
        return Number((await takeOver(fence)).metadata.resourceVersion);
      })();
      const [versions, endedAt] = await Promise.all([writing, ended]);
      expect(versions.flat().filter((version) => version > endedAt)).toEqual([]);
    });

    it('leaves the term to its holder while nobody has taken the Lease, however long ago it ran out', async () => {
      const fence = await elect({ ...SPEC, renewTime: '2020-01-01T00:00:00.000000Z' });
      await client.write(creation(fence), signal);
    });

    it.each<[string, (fence: LeaseFence) => Promise<unknown>]>([
      ['is given up', (fence) => change(fence, { holderIdentity: '' })],
      ['has another holder', (fence) => change(fence, { holderIdentity: 'two' })],
      ['has the same holder in another term', (fence) => change(fence, { leaseTransitions: 4 })],
      ['is deleted', (fence) => client.delete(LEASES, fence, {}, signal)],
      [
        'is another object of that name',
        async ({ namespace, name: of, uid }) => {
          const metadata = { namespace, name: of };
          await client.delete(LEASES, metadata, { uid }, signal);
          await client.create(
            LEASES,
            { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: SPEC },
            signal,
          );
        },
      ],
    ])('ends the term when the Lease %s', async (_, end) => {
      const fence = await elect();
      await client.write(creation(fence), signal);
      await end(fence);
      await expect(client.write(creation(fence), signal)).rejects.toSatisfy(isLeadershipEnded);
    });

    describe('of each kind', () => {
      const pod = async (spec: Partial<Pod['spec']> = {}): Promise<Pod> => {
        const metadata = { ...named('pod'), labels: { app: 'a' } };
        const whole = { ...spec, containers: [{ name: 'c', image: 'i' }] };
        return await client.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec: whole }, signal);
      };
      const deployment = async (): Promise<Deployment> => {
        const metadata = named('d');
        const labels = { app: metadata.name };
        const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
        const spec = { replicas: 1, selector: { matchLabels: labels }, template };
        return await client.create(DEPLOYMENTS, { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec }, signal);
      };
      const stored = async () => await client.create(CONFIG_MAPS, configMap(), signal);
      /** What sends a write, with the object that must be as before when it is refused. */
      type Sent = readonly [
        KubeObject,
        { readonly resource: typeof PODS | typeof CONFIG_MAPS | typeof DEPLOYMENTS } & ObjectWrite,
      ];
      const patch = (patchType: string, body: (object: KubeObject) => unknown) => async (): Promise<Sent> => {
        const object = await stored();
        const how = { verb: 'patch', patchType, patch: body(object), fieldManager: 'applier' } as const;
        return [object, { ...how, resource: CONFIG_MAPS, key: keyOf(object) } as Sent[1]];
      };
      beforeAll(async () => {
        const node: KubeObject = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } };
        await client.create(NODES, node, signal);
        const account = {
          apiVersion: 'v1',
          kind: 'ServiceAccount',
          metadata: { name: 'default', namespace: NAMESPACE },
        };
        await client.create(SERVICE_ACCOUNTS, account, signal);
        const metadata = { name: 'all', namespace: NAMESPACE };
        const spec = { minAvailable: 0, selector: { matchLabels: { app: 'a' } } };
        const budget: KubeObject = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata };
        await client.create(POD_DISRUPTION_BUDGETS, { ...budget, spec }, signal);
      });

      it.each<[string, () => Promise<Sent>]>([
        [
          'update',
          async () => {
            const object = await stored();
            const changed = { ...object, data: { a: 'b' } } as KubeObject;
            return [object, { verb: 'update', resource: CONFIG_MAPS, key: keyOf(object), object: changed }];
          },
        ],
        ['merge patch', patch('application/merge-patch+json', () => ({ data: { a: 'b' } }))],
        ['strategic merge patch', patch('application/strategic-merge-patch+json', () => ({ data: { a: 'b' } }))],
        ['JSON patch', patch('application/json-patch+json', () => [{ op: 'add', path: '/data', value: { a: 'b' } }])],
        [
          'apply',
          patch('application/apply-patch+yaml', ({ metadata }) => {
            const { namespace, name: of } = metadata;
            return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: of }, data: { a: 'b' } };
          }),
        ],
        [
          'deletion',
          async () => {
            const object = await stored();
            return [object, { verb: 'delete', resource: CONFIG_MAPS, key: keyOf(object) }];
          },
        ],
        [
          'deletion in two steps',
          async () => {
            const object = await pod({ nodeName: 'n' });
            const options = { gracePeriodSeconds: 0 };
            return [object, { verb: 'delete', resource: PODS, key: keyOf(object), options }];
          },
        ],
        [
          'status',
          async () => {
            const object = await deployment();
            const changed = { ...object, status: { replicas: 1 } };
            const subresource = 'status';
            return [
              object,
              { verb: 'update', resource: DEPLOYMENTS, key: keyOf(object), object: changed, subresource },
            ];
          },
        ],
        [
          'scale',
          async () => {
            const object = await deployment();
            const how = { patchType: 'application/merge-patch+json', patch: { spec: { replicas: 2 } } } as const;
            return [object, { verb: 'patch', resource: DEPLOYMENTS, key: keyOf(object), ...how, subresource: 'scale' }];
          },
        ],
        [
          'binding',
          async () => {
            const object = await pod();
            const { name: of } = object.metadata;
            const target = { apiVersion: 'v1', kind: 'Node', name: 'n' };
            const binding = { apiVersion: 'v1', kind: 'Binding', metadata: keyOf(object), target } as KubeObject;
            const where = { resource: PODS, namespace: NAMESPACE, name: of, subresource: 'binding' } as const;
            return [object, { verb: 'create', object: binding, ...where }];
          },
        ],
        [
          'eviction',
          async () => {
            const object = await pod();
            const { name: of } = object.metadata;
            const eviction: KubeObject = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: keyOf(object) };
            const where = { resource: PODS, namespace: NAMESPACE, name: of, subresource: 'eviction' } as const;
            return [object, { verb: 'create', object: eviction, ...where }];
          },
        ],
      ])('%s: refused after the term, carried out in it', async (_, make) => {
        const [ended, lasting] = [await elect(), await elect()];
        const [object, write] = await make();
        // The other API server has seen the object and the term, and not its end: its commit must find out.
        await behind.get(LEASES, lasting, signal);
        await behind.get(write.resource, keyOf(object), signal);
        {
          using _ = brake.pull();
          await takeOver(ended);
          await expect(behind.write({ ...write, fence: ended }, signal)).rejects.toSatisfy(isLeadershipEnded);
        }
        expect(await client.get(write.resource, keyOf(object), signal)).toEqual(object);
        await client.write({ ...write, fence: lasting }, signal);
        const after = await client.get(write.resource, keyOf(object), signal).catch((error: unknown) => error);
        expect(after).not.toEqual(object);
      });

      it('deletion of a collection', async () => {
        const fence = await elect();
        const [one, two] = [await stored(), await stored()];
        for (const object of [one, two]) {
          await client.patch(CONFIG_MAPS, keyOf(object), { merge: { metadata: { labels: { of: 'all' } } } }, signal);
        }
        const path = `/api/v1/namespaces/${NAMESPACE}/configmaps?labelSelector=of%3Dall`;
        const term = { lease: `${fence.namespace}/${fence.name}`, uid: fence.uid, holder: 'one', transitions: '3' };
        const headers = { 'gantry-fence': new URLSearchParams(term).toString() };
        const left = async () =>
          (await client.list(CONFIG_MAPS, { namespace: NAMESPACE, labelSelector: 'of=all' }, signal)).items.length;
        await takeOver(fence);
        await expect(client.raw({ method: 'DELETE', path, headers }, signal)).rejects.toSatisfy(isLeadershipEnded);
        expect(await left()).toBe(2);
        await change(fence, SPEC);
        await client.raw({ method: 'DELETE', path, headers }, signal);
        expect(await left()).toBe(0);
      });

      it('an eviction, which says nothing else to a former leader', async () => {
        const fence = await elect();
        const key = { namespace: NAMESPACE, name: 'none' };
        const object: KubeObject = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: key };
        const eviction = { verb: 'create', resource: PODS, ...key, subresource: 'eviction', object, fence } as const;
        await expect(client.write(eviction, signal)).rejects.toSatisfy((error) => isReason(error, 'NotFound'));
        await takeOver(fence);
        await client.get(LEASES, fence, signal);
        await expect(client.write(eviction, signal)).rejects.toSatisfy(isLeadershipEnded);
      });

      it('a dry run', async () => {
        const fence = await elect();
        const path = `/api/v1/namespaces/${NAMESPACE}/configmaps?dryRun=All`;
        const term = { lease: `${fence.namespace}/${fence.name}`, uid: fence.uid, holder: 'one', transitions: '3' };
        const request = { method: 'POST', path, body: JSON.stringify(configMap()) } as const;
        const headers = { 'gantry-fence': new URLSearchParams(term).toString() };
        await client.raw({ ...request, headers }, signal);
        await takeOver(fence);
        // Only its cache is asked, which has caught up with what was read.
        await client.get(LEASES, fence, signal);
        await expect(client.raw({ ...request, headers }, signal)).rejects.toSatisfy(isLeadershipEnded);
      });
    });

    it('refuses a header that it cannot read, and reads it for writes alone', async () => {
      await expect(send('lease=a/b')).rejects.toThrow('header Gantry-Fence: must have the fields');
      await expect(send('')).rejects.toSatisfy((error) => error instanceof StatusError && error.code === 400);
      await send('lease=a/b', 'GET');
    });

    it('tells nothing about a Lease that the user may not read', async () => {
      const fence = await elect();
      const user = await pki.issue('somebody', []);
      const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'somebody' }];
      const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'deletecollection'] }];
      const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'makers' } };
      await client.create(CLUSTER_ROLES, { ...rbac, kind: 'ClusterRole', rules }, signal);
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'makers' };
      await client.create(CLUSTER_ROLE_BINDINGS, { ...rbac, kind: 'ClusterRoleBinding', roleRef, subjects }, signal);
      using somebody = createHttpClient({ ...parseKubeconfig(kubeconfigOf(server.url, user)), fieldManager: 'test' });
      await expect
        .poll(() =>
          somebody.create(CONFIG_MAPS, configMap(), signal).then(
            () => 'done',
            () => 'not yet',
          ),
        )
        .toBe('done');
      const refusal = (of: LeaseFence) => somebody.write(creation(of), signal).then(() => 'stored', String);
      const text = await refusal(fence);
      expect(text).toContain(`User "somebody" cannot get resource "leases" in API group "coordination.k8s.io"`);
      expect(await refusal({ ...fence, holder: 'wrong' })).toBe(text);
      const term = { lease: `${NAMESPACE}/${fence.name}`, uid: 'u', holder: 'h', transitions: '1' };
      const headers = { 'gantry-fence': new URLSearchParams(term).toString() };
      const path = `/api/v1/namespaces/${NAMESPACE}/configmaps?labelSelector=none`;
      await expect(somebody.raw({ method: 'DELETE', path, headers }, signal)).rejects.toThrow(
        'cannot get resource "leases"',
      );
    });
  });
}
