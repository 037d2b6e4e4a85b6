import { must } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { createObjectClient, type ObjectWrite } from '@gantry/client';
import { createOvertakenClient, FakeObjectClient } from '@gantry/client/testing';
import { keyOf, type KubeObject, type Pod, PODS, type ReplicaSet, StatusError } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { podFromTemplate } from './pod-template.ts';
import { createPods, deletePods, PodChangedError } from './pod-writes.shell.ts';

const OWNER: ReplicaSet = { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'set', namespace: 'n' } };
const QUOTA = new StatusError('Forbidden', 'exceeded quota');
const TERMINATING = new StatusError('Forbidden', 'namespace n is being terminated', {
  details: { causes: [{ reason: 'NamespaceTerminating' }] },
});
const { signal } = new AbortController();

/** An API that throws what `refuse` returns for a write, and the Events that were reported. */
function setUp(refuse: (count: number) => Error | undefined) {
  const client = new FakeObjectClient(new ManualClock());
  let count = 0;
  const refusing = createOvertakenClient(client, async (_write: ObjectWrite) => {
    const error = refuse(count++);
    if (error !== undefined) throw error;
  });
  const groups: number[] = [];
  const grouped = createObjectClient({
    get: (...call) => refusing.get(...call),
    list: (...call) => refusing.list(...call),
    watch: (...call) => refusing.watch(...call),
    write: (...call) => refusing.write(...call),
    batch: (writes, ...call) => {
      groups.push(writes.length);
      return refusing.batch(writes, ...call);
    },
  });
  const events: string[] = [];
  const event = (_: KubeObject, type: string, reason: string, message: string) =>
    void events.push(`${type} ${reason} ${message}`);
  return { client, context: { client: grouped, events: { event } }, groups, events, tried: () => count };
}

const pods = (count: number) =>
  Array.from({ length: count }, (_, i): Pod => {
    const pod = podFromTemplate({ metadata: { labels: { app: 'a' } } }, OWNER);
    return { ...pod, metadata: { ...pod.metadata, name: `p${i}` } };
  });

describe('createPods', () => {
  it('creates all of them and reports each', async () => {
    const { client, context, events } = setUp(() => undefined);
    await createPods(OWNER, pods(5), context, signal);
    expect(client.all(PODS)).toHaveLength(5);
    expect(events).toEqual([0, 1, 2, 3, 4].map((i) => `Normal SuccessfulCreate Created pod: p${i}`));
  });

  it('tries one where all are refused, and no more than the group of the first failure', async () => {
    const all = setUp(() => QUOTA);
    await expect(createPods(OWNER, pods(100), all.context, signal)).rejects.toThrow('exceeded quota');
    expect(all.tried()).toBe(1);
    expect(all.events).toEqual(['Warning FailedCreate Error creating: exceeded quota']);
    const later = setUp((count) => (count === 4 ? QUOTA : undefined));
    await expect(createPods(OWNER, pods(100), later.context, signal)).rejects.toThrow('exceeded quota');
    expect(later.tried()).toBe(7);
    expect(later.client.all(PODS)).toHaveLength(6);
  });

  it('sends groups that double up to 64, each in one request', async () => {
    const { context, groups } = setUp(() => undefined);
    await createPods(OWNER, pods(200), context, signal);
    expect(groups).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 9]);
  });

  it('gives up silently in a terminating namespace', async () => {
    const { context, events, tried } = setUp(() => TERMINATING);
    await createPods(OWNER, pods(100), context, signal);
    expect(tried()).toBe(1);
    expect(events).toEqual([]);
  });
});

describe('deletePods', () => {
  async function withPods(refuse: (count: number) => Error | undefined) {
    const world = setUp(refuse);
    const stored = await Promise.all(pods(3).map((pod) => world.client.put(PODS, pod)));
    return { ...world, stored };
  }

  it('tries all of them, reports each, and then throws the first failure', async () => {
    const { client, context, events, stored } = await withPods((count) => (count === 0 ? QUOTA : undefined));
    await expect(deletePods(OWNER, stored, context, signal)).rejects.toThrow('exceeded quota');
    expect(client.all(PODS).map(({ metadata }) => metadata.name)).toEqual(['p0']);
    expect([...events].sort()).toEqual([
      'Normal SuccessfulDelete Deleted pod: p1',
      'Normal SuccessfulDelete Deleted pod: p2',
      'Warning FailedDelete Error deleting: exceeded quota',
    ]);
  });

  it('takes a pod that is gone, or replaced by a namesake, for neither success nor failure', async () => {
    const gone = new StatusError('NotFound', 'gone');
    const { client, context, events, stored } = await withPods((count) => [gone, undefined, undefined][count]);
    await client.delete(PODS, { namespace: 'n', name: 'p1' }, {}, signal);
    await client.put(PODS, must(pods(2)[1], 'p1'));
    await deletePods(OWNER, stored, context, signal);
    expect(events).toEqual(['Normal SuccessfulDelete Deleted pod: p2']);
    expect(client.all(PODS).map(({ metadata }) => metadata.name)).toContain('p1');
  });

  it('fails by a conflict about a pod that is still there', async () => {
    const busy = new StatusError('Conflict', 'the object has been modified');
    const { context, events, stored } = await withPods((count) => [busy, undefined, undefined][count]);
    await expect(deletePods(OWNER, stored, context, signal)).rejects.toThrow('the object has been modified');
    expect(events).toContain('Warning FailedDelete Error deleting: the object has been modified');
  });

  it('leaves a pod that has changed since it was seen, and reports nothing', async () => {
    const { client, context, events, stored } = await withPods(() => undefined);
    const [pod] = stored;
    await client.patch(
      PODS,
      keyOf(must(pod, 'p0')),
      { merge: { metadata: { annotations: { changed: 'yes' } } } },
      signal,
    );
    await expect(deletePods(OWNER, stored, context, signal, () => true)).rejects.toThrow(PodChangedError);
    expect(client.all(PODS).map(({ metadata }) => metadata.name)).toEqual(['p0']);
    expect(events.filter((event) => event.startsWith('Warning'))).toEqual([]);
  });
});
