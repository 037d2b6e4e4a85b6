import { AuthenticationV1Api, AuthorizationV1Api, type V1ServiceAccount } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { KINDS } from './kinds.ts';
import { expectNewer, retryOnConflict } from './outcome.ts';
import { Resource } from './resource.ts';
import { pod } from './workloads.ts';
import { type Proof, proof, type World } from './world.ts';

const TOKEN_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
const ROOT_CA = 'kube-root-ca.crt';
const RECONCILED_MS = 120_000;
const ACCOUNTS = '[sig-auth] ServiceAccounts should';

/** Account, what the pod says itself, and whether the token is mounted: the pod's word counts more. */
const AUTOMOUNTS: readonly (readonly [account: string, own: boolean | undefined, mounted: boolean])[] = [
  ['default', undefined, true],
  ['mount', undefined, true],
  ['nomount', undefined, false],
  ['default', true, true],
  ['mount', true, true],
  ['nomount', true, true],
  ['default', false, false],
  ['mount', false, false],
  ['nomount', false, false],
];

const accountsOf = (world: World, namespace: string) =>
  new Resource<V1ServiceAccount>(world.cluster, KINDS.ServiceAccount, namespace);

/** Whether a request of another user is allowed. Several groups need several headers, which typed clients cannot send. */
async function isAllowedAs(
  world: World,
  namespace: string,
  { user, uid, groups }: { user: string; uid: string; groups: readonly string[] },
): Promise<boolean> {
  const headers = { 'impersonate-user': user, 'impersonate-uid': uid, 'impersonate-group': groups };
  const answer = await world.cluster.raw(`/api/v1/namespaces/${namespace}/configmaps`, { headers });
  expect([200, 403]).toContain(answer.status);
  return answer.status === 200;
}

export const ACCOUNT_PROOFS: readonly Proof[] = [
  proof(`${ACCOUNTS} allow opting out of API token automount [Conformance]`, async (world) => {
    const namespace = await world.namespace();
    const accounts = accountsOf(world, namespace);
    await accounts.create({ metadata: { name: 'mount' }, automountServiceAccountToken: true });
    await accounts.create({ metadata: { name: 'nomount' }, automountServiceAccountToken: false });
    for (const [index, [serviceAccountName, own, mounted]] of AUTOMOUNTS.entries()) {
      const said = own === undefined ? {} : { automountServiceAccountToken: own };
      const body = pod(`pod-${index}`, { restartPolicy: 'Never', serviceAccountName, ...said });
      const made = await world.core.createNamespacedPod({ namespace, body });
      const mounts = (made.spec?.containers ?? []).flatMap(({ volumeMounts }) => volumeMounts ?? []);
      expect(
        mounts.some(({ mountPath }) => mountPath === TOKEN_PATH),
        `${serviceAccountName} and ${own}`,
      ).toBe(mounted);
    }
  }),

  proof(`${ACCOUNTS} run through the lifecycle of a ServiceAccount [Conformance]`, async (world) => {
    const namespace = await world.namespace();
    const accounts = accountsOf(world, namespace);
    const label = world.unique('account');
    const selection = { labelSelector: `conformance=${label}` };
    const created = await accounts.create({ metadata: { name: 'account', labels: { conformance: label } } });
    expect((await accounts.get('account')).metadata?.uid).toBe(created.metadata?.uid);
    using watch = await accounts.watch(selection);
    expect(await watch.next('the account')).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'account' } } });
    const patched = await accounts.patch('account', 'strategic', { automountServiceAccountToken: false });
    expectNewer(patched, created);
    await watch.until('its change', ({ type }) => type === 'MODIFIED');
    const { items } = await accounts.listAll(selection);
    expect(items).toMatchObject([{ metadata: { name: 'account', namespace }, automountServiceAccountToken: false }]);
    await accounts.deleteCollection({});
    await watch.until('its deletion', ({ type }) => type === 'DELETED');
  }),

  proof(`${ACCOUNTS} update a ServiceAccount [Conformance]`, async (world) => {
    const accounts = accountsOf(world, await world.namespace());
    const created = await accounts.create({ metadata: { name: 'account' }, automountServiceAccountToken: false });
    expect(created.automountServiceAccountToken).toBe(false);
    const updated = await retryOnConflict(async () =>
      accounts.replace({ ...(await accounts.get('account')), automountServiceAccountToken: true }),
    );
    expect(updated.automountServiceAccountToken).toBe(true);
  }),

  proof(`${ACCOUNTS} create a serviceAccountToken and ensure a successful TokenReview [Conformance]`, async (world) => {
    const namespace = await world.namespace();
    const name = 'account';
    await accountsOf(world, namespace).create({ metadata: { name } });
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
    const answer = await world.core.createNamespacedServiceAccountToken({ namespace, name, body: request });
    const token = answer.status?.token ?? '';
    expect(token).not.toBe('');
    const review = await world.api(AuthenticationV1Api).createTokenReview({ body: { spec: { token } } });
    expect(review.status?.authenticated).toBe(true);
    expect(review.status?.error ?? '').toBe('');
    expect(review.status?.user?.username).toBe(`system:serviceaccount:${namespace}:${name}`);
  }),

  proof(`${ACCOUNTS} guarantee kube-root-ca.crt exist in any namespace [Conformance]`, async (world) => {
    const namespace = await world.namespace();
    const key = { name: ROOT_CA, namespace };
    const before = await world.core.readNamespacedConfigMap(key);
    await world.core.deleteNamespacedConfigMap({ ...key, gracePeriodSeconds: 0 });
    await eventually('the root CA is there again', RECONCILED_MS, async () => {
      const found = await world.core.readNamespacedConfigMap(key);
      return found.metadata?.uid !== before.metadata?.uid;
    });
    await world.core.replaceNamespacedConfigMap({
      ...key,
      body: { metadata: { name: ROOT_CA }, data: { 'ca.crt': '' } },
    });
    await eventually('the root CA is whole again', RECONCILED_MS, async () => {
      return (await world.core.readNamespacedConfigMap(key)).data?.['ca.crt'] === before.data?.['ca.crt'];
    });
  }),

  proof('[sig-auth] SubjectReview should support SubjectReview API operations [Conformance]', async (world) => {
    const namespace = await world.namespace();
    const account = await accountsOf(world, namespace).create({ metadata: { name: 'e2e' } });
    const user = `system:serviceaccount:${namespace}:e2e`;
    const uid = account.metadata?.uid ?? '';
    const groups = ['system:authenticated', 'system:serviceaccounts', `system:serviceaccounts:${namespace}`];
    const resourceAttributes = { verb: 'list', resource: 'configmaps', namespace, version: 'v1' };
    const api = world.api(AuthorizationV1Api);
    const asked = { spec: { resourceAttributes, user, groups, uid } };
    const cluster = await api.createSubjectAccessReview({ body: asked });
    const allowed = await isAllowedAs(world, namespace, { user, uid, groups });
    expect(cluster.status?.allowed).toBe(allowed);
    const local = await api.createNamespacedLocalSubjectAccessReview({
      namespace,
      body: { ...asked, metadata: { namespace } },
    });
    expect(local.status?.allowed).toBe(allowed);
  }),
];
