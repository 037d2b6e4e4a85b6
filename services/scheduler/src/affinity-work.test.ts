import type { EventRecorder } from '@gantry/controller-runtime';
import {
  type Affinity,
  type KubeObject,
  NAMESPACES,
  NODES,
  type Pod,
  PODS,
  type Resource,
  type TopologySpreadConstraint,
} from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { runCycle } from './scheduler.ts';
import { apart, exampleTerm, near } from './testing/affinity-examples.ts';
import { exampleNode, examplePod } from './testing/examples.ts';
import { followCluster } from './testing/follow-cluster.ts';
import { spreadBy } from './testing/spread-examples.ts';

/** A scheduler whose caches follow an API server with two nodes in two zones. */
async function start() {
  const { stop, clock, client, view, options } = followCluster();
  const { signal } = new AbortController();
  const putNode = (name: string, zone: string) =>
    client.put(NODES, exampleNode(name, { labels: { host: name, zone } }));
  const putNamespace = (name: string, labels: Record<string, string>) =>
    client.put(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
  await putNode('a', 'a');
  await putNode('b', 'b');
  const put = (name: string, app: string, { affinity, spread, node, namespace }: Placing = {}) =>
    client.put(PODS, {
      ...examplePod(name, {
        labels: { app },
        ...(node === undefined ? {} : { node }),
        ...(namespace === undefined ? {} : { namespace }),
        spec: {
          ...(affinity === undefined ? {} : { affinity }),
          ...(spread === undefined ? {} : { topologySpreadConstraints: [spread] }),
        },
      }),
    });
  const remove = (name: string) => client.delete(PODS, { namespace: 'default', name }, {}, signal);
  const patch = <T extends KubeObject>(resource: Resource<T>, name: string, metadata: object) => {
    const namespace = resource.namespaced ? 'default' : '';
    return client.patch(resource, { namespace, name }, { merge: { metadata } }, signal);
  };
  const relabel = <T extends KubeObject>(resource: Resource<T>, name: string, labels: object) =>
    patch(resource, name, { labels });
  const nodeOf = (name: string) => pods().find(({ metadata }) => metadata.name === name)?.spec?.nodeName;
  const pods = (): readonly Pod[] => client.all(PODS);

  /** The messages that say why pods have no node. */
  const told: string[] = [];
  const events: EventRecorder = {
    event: ({ metadata }, type, _, message) => {
      if (type === 'Warning') told.push(`${metadata.name}: ${message.replace(/ preemption: .*/, '')}`);
    },
  };
  const cycles = async (seconds = 12) => {
    for (let i = 0; i < seconds * 2; i++) {
      await clock.advance(500);
      await (await runCycle({ ...options, events }, stop.signal)).written;
    }
  };
  await clock.advance(100);
  /** The cache shows in one step that a pod is gone and that another pod has its name. */
  const replace = (old: Pod, app: string) => {
    const object: Pod = { ...old, metadata: { ...old.metadata, uid: 'another', labels: { app } } };
    view.take({ kind: 'changed', resource: PODS, changes: [{ object, old }] });
  };
  const removeNode = (name: string) => client.delete(NODES, { namespace: '', name }, {}, signal);
  return { put, putNode, removeNode, putNamespace, patch, replace, remove, relabel, nodeOf, cycles, told };
}

interface Placing {
  readonly affinity?: Affinity;
  readonly spread?: TopologySpreadConstraint;
  readonly node?: string;
  readonly namespace?: string;
}

const REFUSED = {
  near: "0/2 nodes are available: 2 node(s) didn't match pod affinity rules.",
  apart: "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.",
  byOthers: "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules.",
};

describe('replicas that have to be apart', () => {
  it('get a node each, and the last one waits until another one is gone', async () => {
    const { put, remove, nodeOf, cycles, told } = await start();
    for (const name of ['one', 'two', 'three']) await put(name, 'r', { affinity: apart(exampleTerm('r', 'host')) });
    await cycles();
    expect([nodeOf('one'), nodeOf('two')].sort()).toEqual(['a', 'b']);
    expect(nodeOf('three')).toBeUndefined();
    expect(told).toEqual([`three: ${REFUSED.apart}`]);
    await put('unrelated', 'u', { node: 'a' });
    await cycles(60);
    await remove('unrelated');
    await cycles(60);
    expect(told).toHaveLength(1);
    const freed = nodeOf('one');
    await remove('one');
    await cycles();
    expect(nodeOf('three')).toBe(freed);
  });
});

describe('a pod that wants another one', () => {
  it('waits for it, is not tried again for others, and follows it to its zone', async () => {
    const { put, nodeOf, cycles, told } = await start();
    await put('p', 'p', { affinity: near(exampleTerm('x')) });
    await cycles();
    expect(told).toEqual([`p: ${REFUSED.near}`]);
    for (let i = 0; i < 5; i++) {
      await put(`other-${i}`, 'y');
      await cycles();
    }
    expect(told).toHaveLength(1);
    // This scheduler binds it, so the binding is known only when the cache shows it.
    await put('x', 'x');
    await cycles();
    expect(nodeOf('p')).toBe(nodeOf('x'));
    expect(nodeOf('p')).toBeDefined();
  });

  it('is placed when another pod gets the label', async () => {
    const { put, relabel, nodeOf, cycles, told } = await start();
    await put('x', 'y', { node: 'b' });
    await put('p', 'p', { affinity: near(exampleTerm('x')) });
    await cycles();
    await relabel(PODS, 'x', { app: 'z' });
    await cycles();
    expect(told).toHaveLength(1);
    await relabel(PODS, 'x', { app: 'x' });
    await cycles();
    expect(nodeOf('p')).toBe('b');
  });

  it('is placed when the namespace of another pod gets the labels', async () => {
    const { put, putNamespace, relabel, nodeOf, cycles, told } = await start();
    await putNamespace('blue', { team: 'blue' });
    await put('x', 'x', { node: 'b', namespace: 'blue' });
    const term = exampleTerm('x', 'zone', { namespaceSelector: { matchLabels: { team: 'red' } } });
    await put('p', 'p', { affinity: near(term) });
    await cycles();
    await relabel(NAMESPACES, 'blue', { team: 'green' });
    await cycles();
    expect(told).toEqual([`p: ${REFUSED.near}`]);
    await relabel(NAMESPACES, 'blue', { team: 'red' });
    await cycles();
    expect(nodeOf('p')).toBe('b');
  });

  it.each([
    ['that one comes', near(exampleTerm('x')), 'y', 'x'],
    ['the one that it has to be apart from goes', apart(exampleTerm('y')), 'y', 'x'],
  ])('is placed when %s, though the cache shows only that a name is of another pod', async (_, affinity, from, to) => {
    const { put, replace, nodeOf, cycles } = await start();
    const [first] = [await put('first', from, { node: 'a' }), await put('second', from, { node: 'b' })];
    await put('p', 'p', { affinity });
    await cycles();
    expect(nodeOf('p')).toBeUndefined();
    replace(first, to);
    await cycles();
    expect(nodeOf('p')).toBe('a');
  });

  it('is placed when a node joins the zone of that pod', async () => {
    const { put, relabel, nodeOf, cycles } = await start();
    await put('x', 'x', { node: 'a' });
    const affinity = { ...near(exampleTerm('x')), ...apart(exampleTerm('x', 'host')) };
    await put('p', 'p', { affinity });
    await cycles();
    expect(nodeOf('p')).toBeUndefined();
    await relabel(NODES, 'b', { zone: 'a' });
    await cycles();
    expect(nodeOf('p')).toBe('b');
  });
});

describe('a pod that others have to be apart from', () => {
  it('waits until one of them is gone, or it has other labels', async () => {
    const { put, putNamespace, patch, remove, relabel, nodeOf, cycles, told } = await start();
    const affinity = apart(exampleTerm('p', 'host'));
    await putNamespace('default', { team: 'own' });
    await put('x', 'x', { node: 'a', affinity });
    await put('y', 'y', { node: 'b', affinity });
    for (const name of ['p', 'q']) await put(name, 'p');
    await cycles();
    expect([...told].sort()).toEqual([`p: ${REFUSED.byOthers}`, `q: ${REFUSED.byOthers}`]);
    await patch(NAMESPACES, 'default', { annotations: { note: 'new' } });
    await cycles();
    expect(told).toHaveLength(2);
    await relabel(PODS, 'q', { app: 'q' });
    await cycles();
    expect(nodeOf('q')).toBeDefined();
    await remove('y');
    await cycles();
    expect(nodeOf('p')).toBe('b');
  });
});

describe('pods that are to be spread', () => {
  it('get nodes in turns, and one that would be ahead waits until the others have caught up', async () => {
    const { put, nodeOf, cycles, told } = await start();
    for (const name of ['one', 'two', 'three', 'four']) await put(name, 'web', { spread: spreadBy('zone') });
    await cycles();
    expect(['one', 'two', 'three', 'four'].map(nodeOf).sort()).toEqual(['a', 'a', 'b', 'b']);
    await put('ahead', 'web', { node: 'a' });
    await put('p', 'web', { spread: spreadBy('zone'), affinity: near(exampleTerm('x')) });
    await put('x', 'x', { node: 'a' });
    await cycles();
    expect(told).toEqual([expect.stringContaining("1 node(s) didn't match pod topology spread constraints")]);
    await put('other', 'other', { node: 'b' });
    await cycles(60);
    expect(told).toHaveLength(1);
    await put('catches-up', 'web', { node: 'b' });
    await cycles();
    expect(nodeOf('p')).toBe('a');
  });

  it('go on when a domain without pods goes', async () => {
    const { put, removeNode, nodeOf, cycles, told } = await start();
    await put('one', 'web', { node: 'a' });
    await put('p', 'web', { spread: spreadBy('zone'), affinity: near(exampleTerm('x')) });
    await put('x', 'x', { node: 'a' });
    await cycles();
    expect(told).toHaveLength(1);
    await removeNode('b');
    await cycles();
    expect(nodeOf('p')).toBe('a');
  });

  it('one that has to be apart from a pod of a node that goes is placed in its zone', async () => {
    const { put, putNode, removeNode, nodeOf, cycles } = await start();
    await putNode('a2', 'a');
    await put('x', 'x', { node: 'a' });
    await put('y', 'x', { node: 'b' });
    await put('p', 'p', { affinity: apart(exampleTerm('x')) });
    await cycles();
    expect(nodeOf('p')).toBeUndefined();
    await removeNode('a');
    await cycles();
    expect(nodeOf('p')).toBe('a2');
  });
});
