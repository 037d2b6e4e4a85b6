import type { KubeObject } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { fullness, loadsOf, nodeMark, type NodeMark, podMark, type PodMark, unreadyPods } from './inventory.ts';
import { type Box, layOut, nodeAt } from './layout.ts';
import { type Palette, Scene } from './scene.ts';

const pod = (spec: object, status: object, metadata: object = {}): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { uid: 'u', name: 'p', namespace: 'n', ...metadata },
    spec,
    status,
  }) as KubeObject;
const node = (name: string): NodeMark => ({
  uid: name,
  name,
  host: '',
  hostAddress: '',
  isReady: true,
  isCordoned: false,
  allocatable: { cpu: 2000, memory: 1000, pods: 10 },
});
const mark = (uid: string, on: string, state: PodMark['state'] = 'ready'): PodMark => ({
  uid,
  namespace: 'n',
  name: uid,
  node: on,
  state,
  reason: '',
  isFinal: state === 'ended',
  requests: { cpu: 500, memory: 100 },
});

describe('podMark', () => {
  it.each([
    ['waiting', {}, { phase: 'Pending' }, {}],
    ['starting', { nodeName: 'a' }, { phase: 'Pending' }, {}],
    ['ready', { nodeName: 'a' }, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }, {}],
    ['failing', { nodeName: 'a' }, { containerStatuses: [{ state: { waiting: { reason: 'CrashLoopBackOff' } } }] }, {}],
    ['failing', { nodeName: 'a' }, { phase: 'Failed' }, {}],
    ['ended', { nodeName: 'a' }, { phase: 'Succeeded' }, {}],
    ['ending', { nodeName: 'a' }, { phase: 'Running' }, { deletionTimestamp: '2026-01-01T00:00:00Z' }],
  ])('is %s', (state, spec, status, metadata) => expect(podMark(pod(spec, status, metadata)).state).toBe(state));

  it('keeps what it requests', () => {
    const spec = { containers: [{ name: 'c', resources: { requests: { cpu: '250m', memory: '1Ki', other: '1' } } }] };
    expect(podMark(pod(spec, {})).requests).toEqual({ cpu: 250, memory: 1024 });
  });
});

describe('nodeMark', () => {
  it('keeps readiness, cordon and capacity', () => {
    const object = {
      metadata: {
        uid: 'u',
        name: 'a',
        labels: { 'gantry.dev/engine': 'host-1' },
        annotations: { 'gantry.dev/host-address': '192.0.2.1' },
      },
      spec: { unschedulable: true },
      status: { conditions: [{ type: 'Ready', status: 'Unknown' }], allocatable: { cpu: '2' } },
    } as unknown as KubeObject;
    expect(nodeMark(object)).toMatchObject({
      host: 'host-1',
      hostAddress: '192.0.2.1',
      isReady: false,
      isCordoned: true,
      allocatable: { cpu: 2000 },
    });
  });
});

describe('loadsOf', () => {
  it('sums requests by node, without pods that have ended, and finds pods without a node', () => {
    const { loads, unplaced } = loadsOf(
      [node('b-10'), node('b-9')],
      [mark('1', 'b-9'), mark('2', 'b-9', 'ended'), mark('3', ''), mark('4', 'gone')],
    );
    expect(loads.map(({ node: { name }, pods, cpu, memory }) => [name, pods.length, cpu, memory])).toEqual([
      ['b-9', 2, 0.25, 0.1],
      ['b-10', 0, 0, 0],
    ]);
    expect(unplaced.map(({ uid }) => uid)).toEqual(['3', '4']);
  });
});

describe('fullness', () => {
  it('is that of what is scarcest, also of the number of pods', () => {
    const small = { cpu: 20_000, memory: 100_000, pods: 4 };
    const { loads } = loadsOf([{ ...node('a'), allocatable: small }, node('b')], [mark('1', 'a'), mark('2', 'b')]);
    expect(loads.map(fullness)).toEqual([0.25, 0.25]);
    const unlimited = loadsOf([{ ...node('a'), allocatable: { cpu: 1000 } }], [mark('1', 'a')]).loads;
    expect(unlimited.map(({ podCount, podShare }) => [podCount, podShare])).toEqual([[1, 0]]);
  });

  it('counts no pod that has failed for good', () => {
    const failed = podMark(pod({ nodeName: 'a', containers: [] }, { phase: 'Failed', reason: 'Evicted' }));
    expect(failed).toMatchObject({ state: 'failing', reason: 'Evicted', isFinal: true });
    expect(loadsOf([node('a')], [failed]).loads[0]).toMatchObject({ podCount: 0, cpu: 0 });
  });
});

describe('unreadyPods', () => {
  it('has those that do not run, the failing ones first, with the word of the cluster', () => {
    const unschedulable = { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] };
    const looping = { containerStatuses: [{ state: { waiting: { reason: 'CrashLoopBackOff' } } }] };
    const of = (uid: string, spec: object, status: object) => podMark(pod(spec, status, { uid, name: uid }));
    const found = unreadyPods([
      of('new', { nodeName: 'a' }, { phase: 'Pending' }),
      of('p-10', {}, unschedulable),
      of('p-9', {}, unschedulable),
      of('loops', { nodeName: 'a' }, looping),
      of('done', { nodeName: 'a' }, { phase: 'Succeeded' }),
      of('good', { nodeName: 'a' }, { conditions: [{ type: 'Ready', status: 'True' }] }),
    ]);
    expect(found.map(({ uid, reason }) => `${uid} ${reason}`)).toEqual([
      'loops CrashLoopBackOff',
      'p-9 Unschedulable',
      'p-10 Unschedulable',
      'new ',
    ]);
  });
});

describe('layOut', () => {
  const many = (nodes: number, each: number) => {
    const { loads, unplaced } = loadsOf(
      Array.from({ length: nodes }, (_, i) => node(`n-${i}`)),
      Array.from({ length: nodes * each }, (_, i) => mark(`p-${i}`, `n-${i % nodes}`)),
    );
    return layOut(loads, unplaced, 1200, 700);
  };

  it.each([
    [3, 8],
    [1000, 10],
    [40, 110],
    [1, 250],
  ])('has each of %d nodes with %d pods in its own box, in the picture', (nodes, each) => {
    const picture = many(nodes, each);
    expect(picture.pods).toHaveLength(nodes * each);
    const boxes = new Map(picture.nodes.map((box) => [box.load.node.name, box]));
    const places = new Set<string>();
    for (const {
      pod: { node: on },
      x,
      y,
    } of picture.pods) {
      const box = boxes.get(on) ?? expect.fail(`no box for ${on}`);
      expect(x >= box.x && x + picture.podPx <= box.x + box.width).toBe(true);
      expect(y >= box.y && y + picture.podPx <= box.y + box.height).toBe(true);
      places.add(`${x} ${y}`);
    }
    expect(places.size).toBe(nodes * each);
    for (const box of picture.nodes) expect(box.x + box.width).toBeLessThanOrEqual(1200);
  });

  it('makes squares smaller when there are many', () => {
    expect(many(3, 8).podPx).toBe(16);
    expect(many(1000, 10).podPx).toBeLessThan(10);
  });

  it('has pods without a node above the nodes', () => {
    const picture = layOut(loadsOf([node('a')], []).loads, [mark('w', '', 'waiting')], 400, 300);
    const {
      waiting,
      nodes: [first],
    } = picture;
    expect((waiting?.y ?? 0) + (waiting?.height ?? 0)).toBeLessThan(first?.y ?? 0);
    expect(picture.pods[0]?.y).toBeLessThan(waiting?.height ?? 0);
  });

  it.each([
    [3, 5],
    [1, 40],
    [1000, 1],
    [7, 30],
  ])('has each of %d hosts in a frame of its own with its %d nodes', (hosts, each) => {
    const nodes = Array.from({ length: hosts * each }, (_, i) => ({ ...node(`n-${i}`), host: `h-${i % hosts}` }));
    const picture = layOut(loadsOf(nodes, [mark('p', 'n-0')]).loads, [], 900, 600);
    expect([picture.hosts.length, picture.nodes.length]).toEqual([hosts, hosts * each]);
    const isIn = (inner: Box, outer: Box) =>
      inner.x >= outer.x &&
      inner.y >= outer.y &&
      inner.x + inner.width <= outer.x + outer.width &&
      inner.y + inner.height <= outer.y + outer.height;
    const apart = (one: Box, other: Box) =>
      one.x + one.width <= other.x ||
      other.x + other.width <= one.x ||
      one.y + one.height <= other.y ||
      other.y + other.height <= one.y;
    const frames = new Map(picture.hosts.map((box) => [box.name, box]));
    for (const box of picture.nodes) expect(isIn(box, frames.get(box.load.node.host) ?? box)).toBe(true);
    const whole = { x: 0, y: 0, width: 900, height: picture.height };
    expect(picture.hosts.filter((box) => !isIn(box, whole))).toEqual([]);
    const overlap = picture.hosts.filter((box, i) => picture.hosts.some((other, j) => j > i && !apart(box, other)));
    expect(overlap).toEqual([]);
  });

  it('is empty without nodes', () => expect(layOut([], [], 400, 300)).toMatchObject({ nodes: [], pods: [] }));

  it('finds the node at a point', () => {
    const picture = many(2, 3);
    expect(nodeAt(picture, 1, 1)?.name).toBe('n-0');
    expect(nodeAt(picture, -5, 1)).toBeUndefined();
  });
});

describe('Scene', () => {
  const pictureOf = (on: readonly PodMark[]) => {
    const { loads, unplaced } = loadsOf([node('a'), node('b')], on);
    return layOut(loads, unplaced, 400, 300);
  };
  const boxOf = (picture: ReturnType<typeof pictureOf>, uid: string) =>
    picture.pods.find(({ pod: one }) => one.uid === uid) ?? expect.fail(`no ${uid}`);

  it('finds a pod where it is drawn, also on its way to another place', () => {
    const before = pictureOf([mark('p', '', 'waiting'), mark('q', '', 'waiting')]);
    const after = pictureOf([mark('p', 'a'), mark('q', '', 'waiting')]);
    const [from, to] = [boxOf(before, 'p'), boxOf(after, 'p')];
    const scene = new Scene();
    scene.update(before, 0, true);
    scene.update(after, 10_000, true);
    expect(scene.podAt(from.x + 1, from.y + 1, 10_000)?.uid).toBe('p');
    expect(scene.podAt(to.x + 1, to.y + 1, 10_000)).toBeUndefined();
    expect(scene.podAt(to.x + 1, to.y + 1, 20_000)).toMatchObject({ uid: 'p', state: 'ready' });
  });

  it('draws what is seen of a picture that is many screens high, and all that moves is known', () => {
    const nodes = Array.from({ length: 400 }, (_, index) => node(`n-${index}`));
    const pods = nodes.map(({ name }) => mark(`p-${name}`, name));
    const { loads, unplaced } = loadsOf(nodes, pods);
    const picture = layOut(loads, unplaced, 400, 300);
    const names: string[] = [];
    const context = new Proxy({} as CanvasRenderingContext2D, {
      get: (_, name) => (name === 'fillText' ? (text: string) => void names.push(text) : () => undefined),
      set: () => true,
    });
    const scene = new Scene();
    scene.update(picture, 0, true);
    const { x: _, y: top, height } = picture.nodes[200] ?? expect.fail('no node');
    const frame = { palette: {} as Palette, top, bottom: top + height };
    expect(scene.draw(context, 10_000, frame)).toBe(false);
    expect(names).toContain(picture.nodes[200]?.load.node.name);
    expect(names.length).toBeLessThan(20);
    scene.update(layOut(loads, [mark('new', '', 'waiting')], 400, 300), 20_000, true);
    expect(scene.draw(context, 20_000, frame)).toBe(true);
  });

  it('finds no pod that is gone, though it is still fading', () => {
    const scene = new Scene();
    const picture = pictureOf([mark('p', 'a')]);
    const { x, y } = boxOf(picture, 'p');
    scene.update(picture, 0, true);
    expect(scene.podAt(x + 1, y + 1, 1000)?.uid).toBe('p');
    scene.update(pictureOf([]), 2000, true);
    expect(scene.podAt(x + 1, y + 1, 2100)).toBeUndefined();
  });
});
