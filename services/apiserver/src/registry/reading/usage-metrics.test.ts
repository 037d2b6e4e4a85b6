import { findResource, metricsKinds } from '@gantry/kinds';
import { formatTime, must } from '@gantry/base';
import { isReason } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import type { NodeUsage } from '../../agents/usage-source.ts';
import { EVERYTHING } from '../contract/registry.ts';
import { startHarness, type Harness, jsonBody, WRITE } from '../testing.ts';
import { UsageMetrics } from './usage-metrics.ts';

const [NODES, PODS] = ['nodes', 'pods'].map((resource) =>
  must(
    metricsKinds.find((one) => one.resource === resource),
    resource,
  ),
) as [(typeof metricsKinds)[number], (typeof metricsKinds)[number]];

let harness: Harness;
let metrics: UsageMetrics;
/** The called agents of each read. */
let asked: string[][];
let answers: Map<string, NodeUsage>;
let uids: Map<string, string>;

beforeEach(async () => {
  harness = await startHarness();
  asked = [];
  answers = new Map();
  uids = new Map();
  const read = async (agents: readonly { readonly node: string }[]) => {
    asked.push(agents.map(({ node }) => node).sort());
    return new Map(agents.flatMap(({ node }) => (answers.has(node) ? [[node, must(answers.get(node), node)]] : [])));
  };
  metrics = new UsageMetrics({ ...harness.deps, usage: { read } });
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'n' } };
  await harness.create('serviceaccounts', account);
  for (const name of ['a', 'b']) {
    await put('nodes', name, {
      metadata: { name, labels: { on: name } },
      status: { addresses: [{ type: 'InternalIP', address: `10.0.0.${name === 'a' ? 1 : 2}` }] },
    });
  }
  for (const [name, node] of [
    ['web-1', 'a'],
    ['web-2', 'b'],
    ['db', 'b'],
  ] as const) {
    const labels = { app: name.replace(/-.*/, '') };
    uids.set(name, await put('pods', name, podOf({ name, labels }, node)));
  }
});

const podOf = (metadata: object, nodeName: string, phase = 'Running') => ({
  metadata: { namespace: 'n', ...metadata },
  spec: { nodeName, automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] },
  status: { phase },
});

/** Creates an object with its status. Returns its uid. */
async function put(resource: string, name: string, object: object): Promise<string> {
  const { kind } = must(findResource({ group: '', version: 'v1', resource }), resource);
  const created = await harness.create(resource, { apiVersion: 'v1', kind, ...object });
  const target = harness.target(resource, name, { subresource: 'status' });
  const body = jsonBody({ ...created, ...object, metadata: created.metadata });
  await harness.settle(harness.registry.update(harness.context(), target, body, WRITE));
  return created.metadata.uid ?? '';
}

function usage(pods: readonly string[], node?: number): NodeUsage {
  const window = { at: harness.clock.now() - 4000, windowMs: 10_250 };
  const amounts = { cpuNanoCores: 12_345_678, memoryBytes: 3 * 2 ** 20 };
  return {
    node: node === undefined ? undefined : { ...window, cpuNanoCores: node, memoryBytes: 1000 },
    pods: new Map(pods.map((name) => [uids.get(name) ?? '', { ...window, containers: new Map([['c', amounts]]) }])),
  };
}

const list = async (definition: typeof PODS, request: Partial<typeof EVERYTHING> = {}) => {
  const work = metrics.list(harness.context(), definition, { ...EVERYTHING, ...request });
  return (await harness.settle(work)).items.map(({ object }) => object);
};
const names = (objects: readonly { metadata: { name?: string } }[]) =>
  objects.map(({ metadata }) => metadata.name).sort();

describe('metrics of pods', () => {
  it('are what the agents of their nodes say, in the form of metrics-server', async () => {
    answers.set('a', usage(['web-1']));
    expect(await list(PODS, { namespace: 'n', labelSelector: 'app=web' })).toEqual([
      {
        kind: 'PodMetrics',
        apiVersion: 'metrics.k8s.io/v1beta1',
        metadata: {
          name: 'web-1',
          namespace: 'n',
          creationTimestamp: formatTime(harness.clock.now()),
          labels: { app: 'web' },
        },
        timestamp: formatTime(harness.clock.now() - 4000),
        window: '10.25s',
        containers: [{ name: 'c', usage: { cpu: '12345678n', memory: '3Mi' } }],
      },
    ]);
  });

  it('leave out those of agents that do not respond, and ask those that are concerned alone', async () => {
    answers.set('b', usage(['web-2', 'db']));
    expect(names(await list(PODS))).toEqual(['db', 'web-2']);
    expect(names(await list(PODS, { labelSelector: 'app=db' }))).toEqual(['db']);
    expect(asked).toEqual([['a', 'b'], ['b']]);
  });

  it('are taken from the agent of their own node alone', async () => {
    answers.set('a', usage(['web-1', 'web-2', 'db']));
    expect(names(await list(PODS))).toEqual(['web-1']);
  });

  it('are those of running pods', async () => {
    uids.set('over', await put('pods', 'over', podOf({ name: 'over' }, 'a', 'Succeeded')));
    answers.set('a', usage(['web-1', 'over']));
    expect(names(await list(PODS))).toEqual(['web-1']);
  });

  it('are selected by fields that metrics have', async () => {
    answers.set('b', usage(['web-2', 'db']));
    expect(names(await list(PODS, { fieldSelector: 'metadata.name=db' }))).toEqual(['db']);
    await expect(list(PODS, { fieldSelector: 'spec.nodeName=b' })).rejects.toMatchObject({ reason: 'BadRequest' });
  });

  it('are not found where there are none', async () => {
    answers.set('a', usage(['web-1']));
    const get = (name: string) => {
      const target = { definition: PODS, namespace: 'n', name, subresource: '' };
      return harness.settle(metrics.get(harness.context(), target, ''));
    };
    expect((await get('web-1')).object).toMatchObject({ kind: 'PodMetrics', metadata: { name: 'web-1' } });
    for (const name of ['web-2', 'gone']) {
      const failure = await get(name).catch((error: unknown) => error);
      expect(isReason(failure, 'NotFound')).toBe(true);
      expect((failure as Error).message).toBe(`pods.metrics.k8s.io "n/${name}" not found`);
    }
  });
});

describe('metrics of nodes', () => {
  it('are what their agents say', async () => {
    answers.set('a', usage([], 250_000_000));
    answers.set('b', usage([]));
    expect(await list(NODES)).toMatchObject([
      { kind: 'NodeMetrics', metadata: { name: 'a', labels: { on: 'a' } }, usage: { cpu: '250m', memory: '1k' } },
    ]);
    expect(names(await list(NODES, { labelSelector: 'on=b' }))).toEqual([]);
  });
});
