import { formatMicroTime } from '@gantry/base';
import type { KubeObject, Node } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { userOfIdentity } from '../../auth/authn/identity.ts';
import { createRegistry } from '../../registry/create-registry.ts';
import { startHarness, type Harness, jsonBody, patchBody, WRITE } from '../../registry/testing.ts';

/** An agent of engine `one` and related objects. All rights are granted, since these tests are about content. */
describe('NodeRestriction', () => {
  let h: Harness;
  let own: KubeObject;
  const agent = userOfIdentity('system:node:a-1', ['system:nodes'], ['gantry:engine:one']);

  const node = (name: string, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'gantry.dev/engine': 'one' }, ...metadata },
  });
  const lease = (name: string, namespace: string, holderIdentity: string, ageMs = 0) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace },
    spec: { holderIdentity, leaseDurationSeconds: 5, renewTime: formatMicroTime(h.clock.now() - ageMs) },
  });
  const pod = (name: string, nodeName: string, spec: object = {}, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'x' }, ...metadata },
    spec: { nodeName, containers: [{ name: 'c', image: 'i' }], ...spec },
  });

  beforeEach(async () => {
    h = await startHarness();
    for (const name of ['kube-system', 'kube-node-lease']) {
      await h.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
    await h.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
    own = await h.create('nodes', node('a-1'));
    await h.create('nodes', node('a-2'));
    await h.create('nodes', node('b-1', { labels: { 'gantry.dev/engine': 'two' } }));
    await h.create('pods', pod('mine', 'a-1'));
    await h.create('pods', pod('far', 'b-1'));
  });

  const byAgent = () => h.context({ user: agent });
  const place = (resource: string, name: string, namespace?: string, subresource = '') =>
    h.target(resource, name, { subresource, ...(namespace === undefined ? {} : { namespace }) });
  const store = (resource: string, object: object, namespace: string) =>
    h.settle(h.registry.create(h.context(), place(resource, '', namespace), jsonBody(object), WRITE));
  const create = async (resource: string, object: object, namespace?: string, name = '', subresource = '') =>
    (
      await h.settle(
        h.registry.create(byAgent(), place(resource, name, namespace, subresource), jsonBody(object), WRITE),
      )
    ).object;
  const patch = async (resource: string, name: string, body: object, subresource = '', namespace?: string) => {
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    const type = 'application/strategic-merge-patch+json';
    const target = place(resource, name, namespace, subresource);
    return (await h.settle(h.registry.patch(byAgent(), target, patchBody(type, bytes), WRITE))).response.object;
  };
  const remove = (resource: string, name: string, namespace?: string, context = byAgent()) => {
    const options = {
      gracePeriodSeconds: 0,
      preconditions: {},
      propagationPolicy: undefined,
      orphanDependents: undefined,
    };
    const read = () => Promise.resolve({ options, dryRun: false });
    return h.settle(h.registry.delete(context, place(resource, name, namespace), { read }));
  };

  describe('of Nodes', () => {
    it.each([
      [{ 'node-restriction.kubernetes.io/team': 'a' }],
      [{ 'node-role.kubernetes.io/control-plane': '' }],
      [{ 'gantry.dev/engine': 'two' }],
      [{ 'gantry.dev/engine': null }],
    ])('keeps labels that decide about others: %j', async (labels) => {
      const refused = `nodes "a-1" is forbidden: is not allowed to modify labels: ${Object.keys(labels).join()}`;
      await expect(patch('nodes', 'a-1', { metadata: { labels } })).rejects.toThrow(refused);
      await expect(patch('nodes', 'a-1', { metadata: { labels } }, 'status')).rejects.toThrow(refused);
    });

    it('lets the agent set labels of its own', async () => {
      const labels = { 'topology.kubernetes.io/zone': 'z', 'example.com/disk': 'ssd' };
      expect((await patch('nodes', 'a-1', { metadata: { labels } })).metadata.labels).toMatchObject(labels);
    });

    it.each([
      [{ spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }, 'node "a-1" is not allowed to modify taints'],
      [
        { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'b-1', uid: 'u' }] } },
        'node "a-1" is not allowed to modify ownerReferences',
      ],
    ])('keeps taints and owners: %j', async (body, refused) => {
      await expect(patch('nodes', 'a-1', body)).rejects.toThrow(refused);
    });

    it('keeps the range of its pods, which other hosts send packets to', async () => {
      const refused = 'nodes "a-1" is forbidden: node "a-1" is not allowed to modify podCIDRs';
      const range = { podCIDR: '10.0.1.0/24', podCIDRs: ['10.0.1.0/24'] };
      await expect(patch('nodes', 'a-1', { spec: range })).rejects.toThrow(refused);
      const target = place('nodes', 'a-1');
      const assigned = { ...own, spec: { ...(own as Node).spec, ...range } };
      await h.settle(h.registry.update(h.context(), target, jsonBody(assigned), WRITE));
      const labels = { 'example.com/disk': 'ssd' };
      expect(await patch('nodes', 'a-1', { metadata: { labels } })).toMatchObject({ spec: range });
      await expect(patch('nodes', 'a-1', { spec: { podCIDR: null, podCIDRs: null } })).rejects.toThrow('podCIDR');
      await remove('nodes', 'a-1', undefined, h.context());
      await expect(create('nodes', { ...node('a-1'), spec: range })).rejects.toThrow(refused);
    });

    it('registers its own Node alone, of its own engine', async () => {
      await expect(create('nodes', node('b-2'))).rejects.toThrow(
        'nodes "b-2" is forbidden: node "a-1" is not allowed to modify node "b-2"',
      );
      await remove('nodes', 'a-1', undefined, h.context());
      await expect(create('nodes', node('a-1', { labels: { 'gantry.dev/engine': 'two' } }))).rejects.toThrow(
        'nodes "a-1" is forbidden: node "a-1" is not allowed to set the following labels: gantry.dev/engine',
      );
      const unbound = userOfIdentity('system:node:a-1', ['system:nodes']);
      const target = place('nodes', '');
      await expect(
        h.settle(h.registry.create(h.context({ user: unbound }), target, jsonBody(node('a-1')), WRITE)),
      ).rejects.toThrow('is not allowed to set the following labels: gantry.dev/engine');
      expect((await create('nodes', node('a-1'))).metadata.name).toBe('a-1');
    });

    it('leaves other Nodes alone, but for a custodian that drains a dead one', async () => {
      const drain = { metadata: { annotations: { 'gantry.dev/draining': 'true' } }, spec: { unschedulable: true } };
      const refused = 'node "a-1" is not allowed to modify node "a-2"';
      await expect(patch('nodes', 'a-2', drain)).rejects.toThrow(refused);
      await store('leases', lease('gantry-host-one', 'kube-system', 'a-1'), 'kube-system');
      await store('leases', lease('a-2', 'kube-node-lease', 'a-2'), 'kube-node-lease');
      await expect(patch('nodes', 'a-2', drain)).rejects.toThrow(refused);
      await h.clock.advance(6_000);
      const drained = (await patch('nodes', 'a-2', drain)) as Node;
      expect(drained.spec?.unschedulable).toBe(true);
      await expect(patch('nodes', 'a-2', { metadata: { labels: { 'gantry.dev/engine': 'two' } } })).rejects.toThrow(
        'node "a-1" is not allowed to modify more of node "a-2" than its draining',
      );
      await expect(patch('nodes', 'a-2', { status: { phase: 'Running' } }, 'status')).rejects.toThrow(refused);
      await expect(remove('nodes', 'b-1')).rejects.toThrow('node "a-1" is not allowed to modify node "b-1"');
      await remove('nodes', 'a-2');
    });
  });

  describe('of pods', () => {
    const mirror = { 'kubernetes.io/config.mirror': 'x' };
    const owner = (changes: object = {}) => [
      { apiVersion: 'v1', kind: 'Node', name: 'a-1', uid: own.metadata.uid, controller: true, ...changes },
    ];

    it.each<[string, (uid: string) => object, string]>([
      ['an ordinary pod', () => pod('p', 'a-1'), 'node "a-1" can only create mirror pods'],
      [
        'a mirror on another node',
        () => pod('p', 'b-1', {}, { annotations: mirror }),
        'can only create pods with spec.nodeName set to itself',
      ],
      [
        'a mirror without an owner',
        () => pod('p', 'a-1', {}, { annotations: mirror }),
        'can only create pods with an owner reference set to itself',
      ],
      [
        'a mirror of two owners',
        () => pod('p', 'a-1', {}, { annotations: mirror, ownerReferences: [...owner(), ...owner({ uid: 'v' })] }),
        'with a single owner reference set to itself',
      ],
      [
        'a mirror that another node owns',
        () => pod('p', 'a-1', {}, { annotations: mirror, ownerReferences: owner({ name: 'b-1' }) }),
        'can only create pods with an owner reference set to itself',
      ],
      [
        'a mirror whose owner is no controller',
        () => pod('p', 'a-1', {}, { annotations: mirror, ownerReferences: owner({ controller: false }) }),
        'with a controller owner reference set to itself',
      ],
      [
        'a mirror that blocks the deletion of its owner',
        () => pod('p', 'a-1', {}, { annotations: mirror, ownerReferences: owner({ blockOwnerDeletion: true }) }),
        'must not set blockOwnerDeletion on an owner reference',
      ],
      [
        'a mirror of an earlier node',
        () => pod('p', 'a-1', {}, { annotations: mirror, ownerReferences: owner({ uid: 'other' }) }),
        'node a-1 UID mismatch: expected other got',
      ],
      [
        'a mirror with a ConfigMap',
        () =>
          pod(
            'p',
            'a-1',
            { volumes: [{ name: 'v', configMap: { name: 'c' } }] },
            { annotations: mirror, ownerReferences: owner() },
          ),
        'can not create pods that reference configmaps',
      ],
      [
        'a mirror with a claim',
        () =>
          pod(
            'p',
            'a-1',
            { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
            { annotations: mirror, ownerReferences: owner() },
          ),
        'can not create pods that reference persistentvolumeclaims',
      ],
    ])('refuses %s', async (_, object, refused) => {
      await expect(create('pods', object(own.metadata.uid ?? ''))).rejects.toThrow(refused);
    });

    it('lets the agent mirror a pod of its own, write its status and remove it', async () => {
      await create('pods', pod('p', 'a-1', {}, { annotations: mirror, ownerReferences: owner() }));
      await patch('pods', 'p', { status: { phase: 'Running' } }, 'status');
      await remove('pods', 'p');
    });

    it('refuses what belongs to other nodes', async () => {
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'far' } };
      await expect(remove('pods', 'far')).rejects.toThrow('can only delete pods with spec.nodeName set to itself');
      await expect(patch('pods', 'far', { status: { phase: 'Failed' } }, 'status')).rejects.toThrow(
        'can only update pod status for pods with spec.nodeName set to itself',
      );
      await expect(create('pods', eviction, undefined, 'far', 'eviction')).rejects.toThrow(
        'node a-1 can only evict pods with spec.nodeName set to itself',
      );
      await expect(patch('pods', 'mine', { metadata: { labels: { app: 'y' } } }, 'status')).rejects.toThrow(
        'node "a-1" cannot update labels through pod status',
      );
      await expect(patch('pods', 'mine', { metadata: { labels: { app: 'y' } } })).rejects.toThrow(
        'unexpected operation',
      );
      await create('pods', { ...eviction, metadata: { name: 'mine' } }, undefined, 'mine', 'eviction');
    });
  });

  describe('of tokens', () => {
    const ask = async (name: string, spec: object, uid?: string) => {
      const found = await h.settle(h.registry.get(h.context(), place('pods', name), ''));
      const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid: uid ?? found.object.metadata.uid };
      const request = {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { boundObjectRef, ...spec },
      };
      return create('serviceaccounts', request, undefined, 'default', 'token');
    };
    const projected = (...sources: object[]) => ({
      volumes: [{ name: 'v', projected: { sources: sources.map((serviceAccountToken) => ({ serviceAccountToken })) } }],
    });

    beforeEach(async () => {
      await h.create('pods', pod('vault', 'a-1', projected({ path: 't', audience: 'vault', expirationSeconds: 900 })));
    });

    it('issues those that the pod’s spec names, for as long as it says', async () => {
      expect(await ask('mine', { audiences: [] })).toHaveProperty('status.token');
      expect(await ask('vault', { audiences: ['vault'], expirationSeconds: 900 })).toHaveProperty('status.token');
    });

    it.each<[string, string, object, string]>([
      ['without a pod', 'mine', { boundObjectRef: null }, 'node requested token not bound to a pod'],
      [
        'bound to a Secret',
        'mine',
        { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'u' } },
        'node requested token not bound to a pod',
      ],
      ['for a pod of another node', 'far', {}, 'node requested token bound to a pod scheduled on a different node'],
      ['for two audiences', 'vault', { audiences: ['vault', 'x'] }, 'node may only request 0 or 1 audiences'],
      ['that lasts longer', 'vault', { audiences: ['vault'], expirationSeconds: 901 }, 'for 901 seconds'],
      ['that lasts a year', 'mine', { expirationSeconds: 31_536_000 }, "the pod's spec asks for 3607"],
    ])('refuses one %s', async (_, name, spec, refused) => {
      await expect(ask(name, spec)).rejects.toThrow(refused);
    });

    it('refuses an earlier pod of that name, and one without an uid', async () => {
      await expect(ask('mine', {}, 'old')).rejects.toThrow('does not match the UID in record');
      await expect(ask('mine', {}, '')).rejects.toThrow('node requested token with a pod binding without a uid');
    });

    it('refuses an audience that the pod’s spec does not name, unless roles allow it', async () => {
      await expect(askBy('none', ['aws'])).rejects.toThrow(
        'audience "aws" not found in pod spec volume, system:node:a-1 is not authorized to request this audience',
      );
      await askBy('aws', ['aws']);
    });

    /** Requests a token while roles allow one audience. */
    async function askBy(allowed: string, audiences: readonly string[]) {
      const decide = (_: object, { target }: { target: { definition: { resource: string } } }) => ({
        allowed: target.definition.resource === allowed,
        reason: '',
      });
      const registry = createRegistry({ ...h.deps, authorizer: { ...h.deps.authorizer, decide } });
      const { object } = await h.settle(registry.get(h.context(), place('pods', 'vault'), ''));
      const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'vault', uid: object.metadata.uid };
      const request = {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences, boundObjectRef },
      };
      const target = place('serviceaccounts', 'default', undefined, 'token');
      return h.settle(registry.create(byAgent(), target, jsonBody(request), WRITE));
    }
  });

  describe('of what else is a node’s', () => {
    it('writes the heartbeat of its own node alone', async () => {
      await create('leases', lease('a-1', 'kube-node-lease', 'a-1'), 'kube-node-lease');
      await expect(create('leases', lease('b-1', 'kube-node-lease', 'b-1'), 'kube-node-lease')).rejects.toThrow(
        'can only access node lease with the same name as the requesting node',
      );
      await expect(create('leases', lease('a-1', 'kube-system', 'a-1'), 'kube-system')).rejects.toThrow(
        'can only access leases in the "kube-node-lease" system namespace',
      );
      await expect(create('leases', lease('gantry-host-two', 'kube-system', 'a-1'), 'kube-system')).rejects.toThrow(
        'can only access leases',
      );
    });

    it('holds the custodian’s Lease for itself, and takes it from another only when it has expired', async () => {
      await expect(create('leases', lease('gantry-host-one', 'kube-system', 'a-2'), 'kube-system')).rejects.toThrow(
        `can only hold the custodian's lease for itself`,
      );
      await store('leases', lease('gantry-host-one', 'kube-system', 'a-2'), 'kube-system');
      await store('leases', lease('a-2', 'kube-node-lease', 'a-2', -60_000), 'kube-node-lease');
      const hold = (holderIdentity: string) =>
        patch('leases', 'gantry-host-one', { spec: { holderIdentity } }, '', 'kube-system');
      await expect(hold('a-1')).rejects.toThrow(`cannot take the custodian's lease before that of "a-2" has expired`);
      await expect(hold('')).rejects.toThrow(`can only hold the custodian's lease for itself`);
      await h.clock.advance(6_000);
      await hold('a-1');
      await hold('');
      await hold('a-1');
      await expect(remove('leases', 'gantry-host-one', 'kube-system')).rejects.toThrow(
        'not allowed to delete this lease',
      );
    });

    it('takes the custodian’s Lease from a node whose own Lease has expired', async () => {
      await store('leases', lease('gantry-host-one', 'kube-system', 'a-2', -60_000), 'kube-system');
      await store('leases', lease('a-2', 'kube-node-lease', 'a-2'), 'kube-node-lease');
      const take = () => patch('leases', 'gantry-host-one', { spec: { holderIdentity: 'a-1' } }, '', 'kube-system');
      await expect(take()).rejects.toThrow(`cannot take the custodian's lease before that of "a-2" has expired`);
      await h.clock.advance(6_000);
      await take();
    });

    it('writes the CSINode of its own node, and ResourceSlices that name it', async () => {
      const csi = (name: string) => ({
        apiVersion: 'storage.k8s.io/v1',
        kind: 'CSINode',
        metadata: { name },
        spec: { drivers: [] },
      });
      await create('csinodes', csi('a-1'));
      await expect(create('csinodes', csi('b-1'))).rejects.toThrow(
        'can only access CSINode with the same name as the requesting node',
      );
      const slice = (nodeName: string) => ({
        apiVersion: 'resource.k8s.io/v1',
        kind: 'ResourceSlice',
        metadata: { name: `slice-${nodeName}` },
        spec: { nodeName, driver: 'd.example.com', pool: { name: 'p', generation: 1, resourceSliceCount: 1 } },
      });
      await create('resourceslices', slice('a-1'));
      await expect(create('resourceslices', slice('b-1'))).rejects.toThrow(
        'can only create ResourceSlice with the same NodeName as the requesting node',
      );
      await h.create('resourceslices', slice('b-1'));
      await expect(remove('resourceslices', 'slice-b-1')).rejects.toThrow('can only delete ResourceSlice');
    });

    it('writes sizes and conditions of a claim’s status', async () => {
      await h.create('persistentvolumeclaims', {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'c' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      });
      const status = (value: object) => patch('persistentvolumeclaims', 'c', value, 'status');
      await status({ status: { capacity: { storage: '1Gi' } } });
      const refused = 'is not allowed to update fields other than status.capacity and status.conditions';
      await expect(status({ status: { phase: 'Lost' } })).rejects.toThrow(refused);
      await expect(status({ metadata: { labels: { a: 'b' } } })).rejects.toThrow(refused);
    });

    it('needs a node in its name', async () => {
      const unnamed = userOfIdentity('unnamed', ['system:nodes']);
      const target = place('nodes', '');
      await expect(
        h.settle(h.registry.create(h.context({ user: unnamed }), target, jsonBody(node('x')), WRITE)),
      ).rejects.toThrow('could not determine node from user "unnamed"');
    });
  });
});
