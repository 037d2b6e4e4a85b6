import type { KubeObject } from '@gantry/objects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster, nginxDeployment } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { COMPONENTS, leaderOf } from './harness/leaders.ts';

const cluster = new Cluster();
const GROUP = `owners${process.pid}.example.com`;
const GONE_MS = 120_000;
/** Of a server that is not there. While it is, no namespace goes. */
const AWAY = `away.${GROUP}`;

/** What operators rest on, with kubectl: official tests that are in no conformance suite, and what they leave out. */
const crd = (plural: string, kind: string, scope: 'Cluster' | 'Namespaced') => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    group: GROUP,
    scope,
    names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});

const kubectl = (...args: string[]) => cluster.mustKubectl(args);
async function create(object: object): Promise<KubeObject> {
  const input = JSON.stringify(object);
  return JSON.parse(await cluster.mustKubectl(['create', '-f', '-', '-o', 'json'], { input })) as KubeObject;
}

async function define(plural: string, kind: string, scope: 'Cluster' | 'Namespaced' = 'Namespaced'): Promise<void> {
  await create(crd(plural, kind, scope));
  await kubectl('wait', '--for=condition=Established', `crd/${plural}.${GROUP}`, '--timeout=60s');
}

const custom = (kind: string, name: string, metadata: object = {}) => ({
  apiVersion: `${GROUP}/v1`,
  kind,
  metadata: { name, ...metadata },
});
const configMap = (name: string, metadata: object) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
});
const ownedBy = ({ apiVersion, kind, metadata: { name, uid } }: KubeObject) => ({
  ownerReferences: [{ apiVersion, kind, name, uid, blockOwnerDeletion: true }],
});

async function exists(...args: string[]): Promise<boolean> {
  const { code, stderr } = await cluster.kubectl(['get', ...args]);
  if (code !== 0) expect(stderr).toMatch(/NotFound|the server doesn't have a resource type/);
  return code === 0;
}
const goes = (...args: string[]) =>
  eventually(`${args.join(' ')} is gone`, GONE_MS, async () => !(await exists(...args)));

/** Returns when the collector has seen what was made before. */
async function collectorIsDone(namespace: string): Promise<void> {
  const owner = await create(configMap('canary', { namespace }));
  await create(configMap('dependent', { namespace, ...ownedBy(owner) }));
  await kubectl('delete', 'configmap', 'canary', '-n', namespace);
  await goes('configmap', 'dependent', '-n', namespace);
}

beforeAll(async () => {
  await define('globes', 'Globe', 'Cluster');
  await define('widgets', 'Widget');
});
afterAll(async () => {
  await kubectl('delete', 'apiservice', `v1.${AWAY}`, '--ignore-not-found');
  const { stdout } = await cluster.kubectl(['get', 'crd', '-o', 'name']);
  const own = stdout.split('\n').filter((name) => name.endsWith(`.${GROUP}`));
  if (own.length > 0) await kubectl('delete', ...own, '--wait=false');
});

describe('the garbage collector', () => {
  test('supports cascading deletion of custom resources', async () => {
    const owner = await create(custom('Globe', 'owner'));
    await create(custom('Globe', 'dependent', ownedBy(owner)));
    await kubectl('delete', 'globe', 'owner', '--cascade=background');
    await create(custom('Globe', 'canary'));
    await kubectl('delete', 'globe', 'canary', '--cascade=foreground', '--timeout=60s');
    await goes('globe', 'dependent');
    expect(await exists('globe', 'owner')).toBe(false);
  });

  test('supports orphan deletion of custom resources', async () => {
    await using namespace = await cluster.namespace();
    const owner = await create(custom('Globe', 'lets-go'));
    await create(custom('Globe', 'stays', ownedBy(owner)));
    await create(configMap('stays', { namespace: namespace.name, ...ownedBy(owner) }));
    await kubectl('delete', 'globe', 'lets-go', '--cascade=orphan', '--timeout=60s');
    await collectorIsDone(namespace.name);
    const references = 'jsonpath={.metadata.ownerReferences}';
    expect(await kubectl('get', 'globe', 'stays', '-o', references)).toBe('');
    expect(await kubectl('get', 'configmap', 'stays', '-n', namespace.name, '-o', references)).toBe('');
  });

  test('lets a custom resource wait for what it owns, down to the pods', async () => {
    await using namespace = await cluster.namespace();
    const inside = ['-n', namespace.name];
    const owner = await create(custom('Widget', 'shop', { namespace: namespace.name }));
    const deployment = nginxDeployment('web', 1);
    await create({
      ...deployment,
      metadata: { ...deployment.metadata, namespace: namespace.name, ...ownedBy(owner) },
    });
    await cluster.untilRolledOut(namespace.name, 'web');
    await kubectl('delete', 'widget', 'shop', ...inside, '--cascade=foreground', '--timeout=120s');
    expect(await exists('deployment', 'web', ...inside)).toBe(false);
    expect(await kubectl('get', 'replicasets,pods', ...inside, '-o', 'name')).toBe('');
  });

  test('collects what was owned by resources that went with their definition', async () => {
    await using namespace = await cluster.namespace();
    await define('fads', 'Fad');
    const owner = await create(custom('Fad', 'owner', { namespace: namespace.name }));
    await create(configMap('owned', { namespace: namespace.name, ...ownedBy(owner) }));
    await collectorIsDone(namespace.name);
    await kubectl('delete', 'crd', `fads.${GROUP}`, '--timeout=60s');
    await goes('configmap', 'owned', '-n', namespace.name);
  });

  test('keeps dependents of a kind that is not served, until it is', async () => {
    await using namespace = await cluster.namespace();
    const never = {
      ...custom('Late', 'never'),
      metadata: { name: 'never', uid: 'a7d1f2ba-7a34-4b83-9c5c-2a4e0f5c1d10' },
    };
    await create(configMap('waits', { namespace: namespace.name, ...ownedBy(never) }));
    await collectorIsDone(namespace.name);
    expect(await exists('configmap', 'waits', '-n', namespace.name)).toBe(true);
    await define('lates', 'Late');
    await goes('configmap', 'waits', '-n', namespace.name);
  });

  test('goes on where a leader that was killed has left off', async () => {
    await using namespace = await cluster.namespace();
    const inside = ['-n', namespace.name];
    const component = COMPONENTS.find(({ service }) => service === 'controller-manager');
    if (component === undefined) throw new Error('no controller-manager');
    const held = { finalizers: ['example.org/hold'] };
    const owner = await create(custom('Widget', 'owner', { namespace: namespace.name }));
    await create(configMap('held', { namespace: namespace.name, ...held, ...ownedBy(owner) }));
    await create(custom('Widget', 'owned', { namespace: namespace.name, ...ownedBy(owner) }));
    await kubectl('delete', 'widget', 'owner', ...inside, '--cascade=foreground', '--wait=false');
    await goes('widget', 'owned', ...inside);
    const leader = await leaderOf(cluster, component);
    await cluster.docker(['kill', leader.id]);
    try {
      await kubectl('patch', 'configmap', 'held', ...inside, '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
      await goes('configmap', 'held', ...inside);
      await goes('widget', 'owner', ...inside);
    } finally {
      await cluster.docker(['start', leader.id]);
    }
  });
});

describe('a namespace', () => {
  test('takes its custom resources with it', async () => {
    const { name } = await cluster.namespace();
    await create(custom('Widget', 'inside', { namespace: name }));
    await kubectl('delete', 'namespace', name, '--timeout=60s');
    await kubectl('create', 'namespace', name);
    expect(await kubectl('get', 'widgets', '-n', name, '-o', 'name')).toBe('');
    await kubectl('delete', 'namespace', name, '--wait=false');
  });

  test('waits for an API whose server is not there, and says so, while all else goes on', async () => {
    const { name } = await cluster.namespace();
    await create({
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1.${AWAY}` },
      spec: {
        group: AWAY,
        version: 'v1',
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        insecureSkipTLSVerify: true,
        service: { namespace: name, name: 'nobody' },
      },
    });
    await kubectl('delete', 'namespace', name, '--wait=false');
    const condition = 'jsonpath={.status.conditions[?(@.type=="NamespaceDeletionDiscoveryFailure")].message}';
    await eventually('the namespace says what it waits for', GONE_MS, async () => {
      const message = await kubectl('get', 'namespace', name, '-o', condition);
      return message.includes(`${AWAY}/v1: stale GroupVersion discovery: ${AWAY}/v1`);
    });
    const owner = await create(custom('Globe', 'other-owner'));
    await create(custom('Globe', 'other-dependent', ownedBy(owner)));
    await kubectl('delete', 'globe', 'other-owner');
    await goes('globe', 'other-dependent');
    expect(await exists('namespace', name)).toBe(true);
    await kubectl('delete', 'apiservice', `v1.${AWAY}`);
    await goes('namespace', name);
  });
});
