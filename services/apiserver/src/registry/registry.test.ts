import { type KubeObject, StatusError, isReason } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { deleteBody, DELETE_AS_USUAL, EVERYTHING, type ListRequest } from './contract/registry.ts';
import { patchBody, jsonBody, startHarness, definitionOf, type Harness, WRITE } from './testing.ts';

const LIST: ListRequest = { ...EVERYTHING, namespace: 'n' };

const configMap = (name: string, extra: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...extra },
  data: { n: name },
});

describe('the generic registry', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness();
  });

  const failure = (work: Promise<unknown>) => h.failure(work);
  const get = (name: string, resourceVersion = '') =>
    h.settle(h.registry.get(h.context(), h.target('configmaps', name), resourceVersion));
  const list = (request: Partial<ListRequest> = {}) =>
    h.settle(h.registry.list(h.context(), definitionOf('configmaps'), { ...LIST, ...request }));
  const update = (object: KubeObject | object, name = 'a') =>
    h.registry.update(h.context(), h.target('configmaps', name), jsonBody(object), WRITE);
  const names = (items: readonly { object: KubeObject }[]) => items.map((item) => item.object.metadata.name);

  it('gives a new object uid, time and version, and reads it back as it was answered', async () => {
    const created = await h.create('configmaps', configMap('a'));
    expect(created.metadata.uid).toMatch(/^00000000-/);
    expect(created.metadata.namespace).toBe('n');
    expect(Number(created.metadata.resourceVersion)).toBeGreaterThan(255);
    expect((await get('a')).object).toEqual(created);
  });

  it('refuses a name that is taken, a namespace that is missing and one that does not match', async () => {
    await h.create('configmaps', configMap('a'));
    const again = await failure(h.create('configmaps', configMap('a')));
    expect(again.message).toBe('configmaps "a" already exists');
    const target = h.target('configmaps', '', { namespace: 'missing' });
    const missing = await failure(h.registry.create(h.context(), target, jsonBody(configMap('a')), WRITE));
    expect(missing.message).toBe('namespaces "missing" not found');
    const other = await failure(h.create('configmaps', configMap('b', { namespace: 'default' })));
    expect(other.code).toBe(400);
  });

  it('refuses a resourceVersion of a new object when admission and validation have taken it', async () => {
    const versioned = configMap('a', { resourceVersion: '5' });
    const target = h.target('configmaps', '', { namespace: 'missing' });
    const missing = await failure(h.registry.create(h.context(), target, jsonBody(versioned), WRITE));
    expect(missing.message).toBe('namespaces "missing" not found');
    const invalid = await failure(h.create('configmaps', configMap('A', { resourceVersion: '5' })));
    expect(invalid.code).toBe(422);
    const refused = await failure(h.create('configmaps', versioned));
    expect(refused.message).toBe('resourceVersion should not be set on objects to be created');
    expect([refused.code, refused.reason]).toEqual([400, 'BadRequest']);
    await h.create('configmaps', configMap('a', { resourceVersion: '0' }));
  });

  it('generates names that differ', async () => {
    const made = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'gen-' } };
    const one = await h.create('configmaps', made);
    const two = await h.create('configmaps', made);
    expect(one.metadata.name).toMatch(/^gen-[a-z0-9]{5}$/);
    expect(two.metadata.name).not.toBe(one.metadata.name);
  });

  it('writes nothing on a dry run and nothing for an update that changes nothing', async () => {
    await h.create('configmaps', configMap('a'), { dryRun: true });
    expect((await failure(get('a'))).reason).toBe('NotFound');
    const created = await h.create('configmaps', configMap('a'));
    const { response } = await h.settle(update(configMap('a')));
    expect(response.object.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
  });

  it('takes an update that names version 0, as one without a version, for unconditional', async () => {
    await h.create('configmaps', configMap('a', { resourceVersion: '0' }));
    await h.settle(update({ ...configMap('a', { resourceVersion: '0' }), data: { n: 'put' } }));
    expect((await get('a')).object).toMatchObject({ data: { n: 'put' } });
    const content = { metadata: { resourceVersion: '0' }, data: { n: 'patched' } };
    const merge = patchBody('application/merge-patch+json', new TextEncoder().encode(JSON.stringify(content)));
    await h.settle(h.registry.patch(h.context(), h.target('configmaps', 'a'), merge, WRITE));
    expect((await get('a')).object).toMatchObject({ data: { n: 'patched' } });
    const applied = { ...configMap('a', { resourceVersion: '0' }), data: { n: 'applied' } };
    const apply = patchBody('application/apply-patch+yaml', new TextEncoder().encode(JSON.stringify(applied)));
    await h.settle(h.registry.patch(h.context(), h.target('configmaps', 'a'), apply, { ...WRITE, force: true }));
    expect((await get('a')).object).toMatchObject({ data: { n: 'applied' } });
    expect((await get('a')).object.metadata.resourceVersion).not.toBe('0');
    const old = await failure(update(configMap('a', { resourceVersion: '300' })));
    expect(old.reason).toBe('Conflict');
  });

  it('wants a version other than 0 where a kind has no unconditional updates', async () => {
    const budget = (resourceVersion: string) => ({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'a', resourceVersion },
      spec: { minAvailable: 1, selector: {} },
    });
    await h.create('poddisruptionbudgets', budget(''));
    const target = h.target('poddisruptionbudgets', 'a');
    const refused = await failure(h.registry.update(h.context(), target, jsonBody(budget('0')), WRITE));
    expect(refused.message).toBe(
      'poddisruptionbudgets.policy "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    );
  });

  it('refuses an update of an older version, of another uid and of another name', async () => {
    const created = await h.create('configmaps', configMap('a'));
    await h.settle(update({ ...created, data: { n: '2' } }));
    const stale = await failure(update({ ...created, data: { n: '3' } }));
    expect(stale.message).toBe(
      'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    );
    const uid = await failure(update(configMap('a', { uid: 'x' })));
    expect(uid.message).toContain('Precondition failed: UID in precondition: x, UID in object meta: 0000');
    expect((await failure(update(configMap('b')))).message).toBe(
      'the name of the object (b) does not match the name on the URL (a)',
    );
    expect((await failure(update(configMap('c'), 'c'))).reason).toBe('NotFound');
  });

  it('applies many patches at once without losing one', async () => {
    await h.create('configmaps', configMap('a'));
    const patch = (key: string) =>
      h.registry.patch(
        h.context(),
        h.target('configmaps', 'a'),
        patchBody('application/merge-patch+json', new TextEncoder().encode(JSON.stringify({ data: { [key]: '1' } }))),
        WRITE,
      );
    const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
    await h.settle(Promise.all(keys.map(patch)));
    const { data } = (await get('a')).object as KubeObject & { data: Record<string, string> };
    expect(Object.keys(data).sort()).toEqual([...keys, 'n'].sort());
  });

  it('lists by pages over a snapshot that later writes do not touch', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await h.create('configmaps', configMap(name));
    const first = await list({ limit: 2 });
    expect(names(first.items)).toEqual(['a', 'b']);
    expect(first.remainingItemCount).toBe(3);
    await h.create('configmaps', configMap('bb'));
    const second = await list({ limit: 2, continueToken: first.continueToken });
    expect(names(second.items)).toEqual(['c', 'd']);
    expect(second.resourceVersion).toBe(first.resourceVersion);
    const other = await startHarness({ etcd: h.store.etcd, seed: 9 });
    const third = await other.settle(
      other.registry.list(other.context(), definitionOf('configmaps'), {
        ...LIST,
        continueToken: second.continueToken,
      }),
    );
    expect(names(third.items)).toEqual(['e']);
    const exact = await list({ resourceVersion: String(first.resourceVersion), resourceVersionMatch: 'Exact' });
    expect(names(exact.items)).toEqual(['a', 'b', 'c', 'd', 'e']);
    const newer = await list({ resourceVersion: String(first.resourceVersion) });
    expect(names(newer.items)).toContain('bb');
    const limited = await list({ resourceVersion: String(first.resourceVersion), limit: 9 });
    expect(names(limited.items)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('answers linearizable reads from the store when the cache hears nothing', async () => {
    await h.create('configmaps', configMap('a'));
    h.store.etcd.silenceWatches();
    await h.create('configmaps', configMap('b'));
    expect(names((await list()).items)).toEqual(['a', 'b']);
    expect((await get('b')).object.metadata.name).toBe('b');
    const first = await list({ limit: 1 });
    expect(names(first.items)).toEqual(['a']);
    expect(first.remainingItemCount).toBe(1);
    expect(names((await list({ labelSelector: 'x', limit: 1 })).items)).toEqual([]);
    const updated = await h.settle(update({ ...configMap('b'), data: { n: '2' } }, 'b'));
    expect(updated.response.object).toMatchObject({ data: { n: '2' } });
    h.store.etcd.resumeWatches();
  });

  it('tells how to go on when the snapshot of a paged list is gone', async () => {
    for (const name of ['a', 'b', 'c']) await h.create('configmaps', configMap(name));
    const first = await list({ limit: 1 });
    const created = await h.create('configmaps', configMap('d'));
    h.store.etcd.compactHistory(Math.floor(Number(created.metadata.resourceVersion) / 256));
    const other = await startHarness({ etcd: h.store.etcd, seed: 9 });
    const go = (continueToken: string) =>
      other.settle(
        other.registry
          .list(other.context(), definitionOf('configmaps'), { ...LIST, continueToken })
          .catch((error: unknown) => error),
      );
    const expired = await go(first.continueToken);
    expect(expired).toBeInstanceOf(StatusError);
    const status = (expired as StatusError).toStatus();
    expect(status).toMatchObject({ code: 410, reason: 'Expired' });
    const rest = (await go(status.metadata?.continue ?? '')) as Awaited<ReturnType<typeof list>>;
    expect(names(rest.items)).toEqual(['b', 'c', 'd']);
  });

  it('refuses tokens that it did not make', async () => {
    const forged = Buffer.from('{"v":"meta.k8s.io/v1","rv":5,"start":"../secrets/"}').toString('base64url');
    for (const token of ['x', forged]) expect((await failure(list({ continueToken: token }))).code).toBe(400);
  });

  it('selects by labels and fields', async () => {
    await h.create('configmaps', configMap('a', { labels: { x: '1' } }));
    await h.create('configmaps', configMap('b'));
    expect(names((await list({ labelSelector: 'x=1' })).items)).toEqual(['a']);
    expect(names((await list({ fieldSelector: 'metadata.name!=a' })).items)).toEqual(['b']);
    expect((await failure(list({ fieldSelector: 'spec.bogus=1' }))).code).toBe(400);
  });

  it('answers a version that was never reached with a timeout that says so', async () => {
    const error = await failure(get('a', '999999999'));
    expect(error.code).toBe(504);
    expect(error.message).toMatch(/^Timeout: Too large resource version: 999999999, current: \d+$/);
    expect(error.details?.causes?.[0]?.reason).toBe('ResourceVersionTooLarge');
  });

  it('shows a watch what comes into its sight and leaves it', async () => {
    const before = await h.create('configmaps', configMap('a'));
    const stop = new AbortController();
    const watch = await h.settle(
      h.registry.watch(h.context({ signal: stop.signal }), definitionOf('configmaps'), {
        namespace: 'n',
        labelSelector: 'x',
        fieldSelector: '',
        resourceVersion: before.metadata.resourceVersion ?? '',
        resourceVersionMatch: '',
        sendInitialEvents: undefined,
        allowBookmarks: false,
      }),
    );
    await h.settle(update(configMap('a', { labels: { x: '1' } })));
    await h.settle(update({ ...configMap('a', { labels: { x: '1' } }), data: { n: '2' } }));
    await h.settle(update(configMap('a')));
    await h.create('configmaps', configMap('b', { labels: { x: '1' } }));
    await h.clock.advance(1000);
    stop.abort();
    const seen: string[] = [];
    for await (const items of watch) {
      for (const item of items)
        if (item.type !== 'BOOKMARK') seen.push(`${item.type} ${item.response.object.metadata.name}`);
    }
    expect(seen).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED b']);
  });

  it('keeps an object with finalizers until they are gone', async () => {
    await h.create('configmaps', configMap('a', { finalizers: ['example.org/x'] }));
    const options = DELETE_AS_USUAL;
    const first = await h.settle(h.registry.delete(h.context(), h.target('configmaps', 'a'), deleteBody(options)));
    expect(first.gone).toBe(false);
    expect(first.response.object.metadata.deletionGracePeriodSeconds).toBe(0);
    await h.settle(
      h.registry.patch(
        h.context(),
        h.target('configmaps', 'a'),
        patchBody('application/merge-patch+json', new TextEncoder().encode('{"metadata":{"finalizers":null}}')),
        WRITE,
      ),
    );
    expect((await failure(get('a'))).reason).toBe('NotFound');
  });

  it('refuses a deletion whose preconditions do not hold', async () => {
    await h.create('configmaps', configMap('a'));
    const options = { ...DELETE_AS_USUAL, preconditions: { uid: 'x' } };
    const error = await failure(h.registry.delete(h.context(), h.target('configmaps', 'a'), deleteBody(options)));
    expect(error.message).toMatch(
      /^Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition \(x\) does not match the UID in record \(.*\)\. The object might have been deleted and then recreated$/,
    );
  });

  it('refuses a leader without a fence, with a foreign one, and before its cache has seen its election', async () => {
    const user = { name: 'system:kube-scheduler', uid: '', groups: [], extra: {} };
    const attempt = (fence: { electionKey: string; epoch: number; cacheRevision: number } | undefined) =>
      failure(
        h.registry.create(
          h.context({ user, fence: fence === undefined ? undefined : { incarnation: 'i', ...fence } }),
          h.target('configmaps', ''),
          jsonBody(configMap('a')),
          WRITE,
        ),
      );
    const own = '/gantry/elections/kube-scheduler';
    for (const fence of [
      undefined,
      { electionKey: '/gantry/elections/kube-controller-manager', epoch: 5, cacheRevision: 9 },
      { electionKey: own, epoch: 5, cacheRevision: 4 },
      { electionKey: own, epoch: 5, cacheRevision: 9 },
    ]) {
      expect(isReason(await attempt(fence), 'Forbidden')).toBe(true);
    }
  });
});
