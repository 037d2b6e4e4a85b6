import type { ClientLine, ClientWatch } from '../artifacts.ts';
import { addObject, edit, found, putsOf, requestsOf, revisionAt, watchFile } from './editable-run.ts';
import { boundPods, type Mutation, mutation } from './mutation.ts';

/** Defects of what clients see of the cluster: their requests, watches and addresses. */
export const CLIENT_MUTATIONS: readonly Mutation[] = [
  mutation('I25', 'a stale read', (run) => {
    const writes = requestsOf(run).filter(
      ({ phase, value, verb }) => phase === 'ok' && value !== undefined && verb !== 'get',
    );
    const read = found(
      requestsOf(run).findLast(({ phase, verb, value }) => phase === 'ok' && verb === 'get' && value !== undefined),
      'read',
    );
    read.value = found(
      writes.find(({ key }) => key === read.key),
      'write',
    ).value;
  }),
  mutation('I25', 'a value that nobody wrote', (run) => {
    const read = requestsOf(run).findLast(
      ({ phase, verb, value }) => phase === 'ok' && verb === 'get' && value !== undefined,
    );
    found(read, 'read').value = 'from nowhere';
  }),
  mutation('I25', 'a first value that comes back', (run) => {
    const created = found(
      requestsOf(run).find(({ phase, verb }) => phase === 'invoke' && verb === 'create'),
      'creation',
    );
    // A client whose requests are not recorded created it.
    for (const [file, lines] of run.clients)
      run.clients.set(
        file,
        lines.filter((line) => !('op' in line) || line.op !== created.op),
      );
    const reads = requestsOf(run).filter(
      ({ phase, verb, key, value }) => phase === 'ok' && verb === 'get' && key === created.key && value !== undefined,
    );
    found(reads.at(-1), 'read').value = created.value;
  }),
  mutation('I26', 'two events of a watch in the wrong order', (run) => {
    const items = watchFile(run);
    const at = twoEvents(items);
    [items[at], items[at + 1]] = [found(items[at + 1], 'event'), found(items[at], 'event')];
  }),
  mutation('I27', 'an event that comes twice', (run) => {
    const items = watchFile(run);
    const at = twoEvents(items);
    items.splice(at, 0, found(items[at], 'event'));
  }),
  mutation('I27', 'a change that is reported as a creation', (run) => {
    Object.assign(
      found(
        watchFile(run).find(({ type }) => type === 'MODIFIED'),
        'change',
      ),
      { type: 'ADDED' },
    );
  }),
  mutation('I28', 'a bookmark within a revision', (run) => {
    const items = watchFile(run);
    const at = twoEvents(items);
    const event = found(items[at], 'event');
    items.splice(
      at + 1,
      0,
      { ...event, type: 'BOOKMARK' },
      { ...event, resourceVersion: String(Number(event.resourceVersion) + 1) },
    );
  }),
  mutation('I29', 'an event that is not delivered', (run) => {
    const items = watchFile(run);
    items.splice(
      items.findIndex(
        ({ type }, index) => type === 'MODIFIED' && isEvent(items[index - 1]) && isEvent(items[index + 1]),
      ),
      1,
    );
  }),
  mutation('I30', 'a watch that begins late', (run) => {
    const items = watchFile(run);
    items.splice(
      items.findIndex((item, index) => isEvent(item) && items[index - 1]?.type === 'OPEN' && isEvent(items[index + 1])),
      1,
    );
  }),
  mutation('I31', 'a bookmark before what it covers', (run) => {
    const items = watchFile(run);
    const at = twoEvents(items);
    const { resourceVersion } = found(items[at + 1], 'event');
    items.splice(at + 1, 0, {
      ...found(items[at], 'event'),
      type: 'BOOKMARK',
      ...(resourceVersion !== undefined && { resourceVersion }),
    });
  }),
  mutation('I32', 'an update that replaces another version than it was told to', (run) => {
    const all = requestsOf(run);
    const guarded = all.filter(
      ({ phase, verb, resourceVersion }) => phase === 'invoke' && verb === 'update' && resourceVersion !== undefined,
    );
    const done = guarded.filter(({ op }) => all.some((line) => line.op === op && line.phase === 'ok'));
    found(done.at(-1), 'guarded update').resourceVersion = found(
      done.find(({ key }) => key === done.at(-1)?.key),
      'update',
    ).resourceVersion;
  }),
  mutation('I32', 'an apply whose manager owns nothing after it', (run) => {
    edit(putsOf(run, 'configmaps/chaos/'), (object) => {
      if (object.metadata !== undefined) object.metadata.managedFields = [];
    });
  }),
  mutation('I33', 'an acknowledged write that is not in the history', (run) => {
    const write = requestsOf(run).findLast(({ phase, verb }) => phase === 'ok' && verb === 'update');
    found(write, 'acknowledged update').resourceVersion = '1234567890';
  }),
  mutation('I33', 'an event that one member of etcd lost', (run) => {
    run.run = { ...run.run, etcdMembers: ['etcd-0', 'etcd-1'] };
    const lines = run.history.map(({ atMs, revision, events }) => ({ atMs, revision, events }));
    return { 'etcd/etcd-1.jsonl': lines.filter((_, index) => index !== 100) };
  }),
  mutation('I33', 'a member of etcd with another value', (run) => {
    run.run = { ...run.run, etcdMembers: ['etcd-0', 'etcd-1'] };
    const other = run.history.map((line, index) =>
      index === 100
        ? { ...line, events: line.events.map((event) => ('value' in event ? { ...event, value: 'AAAA' } : event)) }
        : line,
    );
    return { 'etcd/etcd-1.jsonl': other };
  }),
  mutation('I33', 'an acknowledged append that is lost', (run) => {
    const appended = (atMs: number, value: string): ClientLine => ({
      atMs,
      observe: 'appended',
      key: 'chaos/db-0',
      value,
    });
    const file: ClientLine = { atMs: 3000, observe: 'file', key: 'chaos/db-0', value: '1,3' };
    run.clients.set('appends-0.jsonl', [appended(1000, '1@a'), appended(2000, '2@a'), file]);
  }),
  mutation('I34', 'a request to a pod that is gone', (run) => {
    const gone = found(
      putsOf(run, 'pods/chaos/web').find(({ object }) => object.metadata?.deletionTimestamp !== undefined),
      'deleted pod',
    );
    const value = found(gone.object.metadata?.uid, 'uid');
    run.clients.set('service-0.jsonl', [{ atMs: run.run.endedAtMs - 1, observe: 'served', key: 'chaos/web', value }]);
  }),
  mutation('I34', 'a request to a pod that has never been ready', (run) => {
    const atMs = run.run.endedAtMs - 1;
    const [pod] = putsOf(run, 'pods/chaos/web').slice(-1);
    const value = found(pod?.object.metadata?.uid, 'uid');
    run.clients.set('service-0.jsonl', [{ atMs, observe: 'served', key: 'chaos/web', value, readiness: 'never' }]);
  }),
  mutation('I34', 'a request that reaches a pod of another workload', (run) => {
    const other = found(boundPods(run, 'chaos/ds-').at(-1), 'daemon').object.metadata?.uid;
    const value = found(other, 'uid');
    run.clients.set('service-0.jsonl', [{ atMs: run.run.endedAtMs - 1, observe: 'served', key: 'chaos/web', value }]);
  }),
  mutation('I34', 'a connection that is refused in calm', (run) => {
    const atMs = run.run.endedAtMs - 1;
    run.clients.set('service-0.jsonl', [{ atMs, observe: 'refused', key: 'chaos/web', value: 'refused' }]);
  }),
  mutation('I35', 'two pods with one address', (run) => {
    const address = found(boundPods(run, 'chaos/db-0').at(-1)?.object.status?.podIPs, 'address of db-0');
    edit(
      boundPods(run, 'chaos/ds-').filter(({ object }) => object.status?.podIPs !== undefined),
      (pod) => {
        pod.status = { ...pod.status, podIPs: address };
      },
    );
  }),
  mutation('I35', 'two Services with one address', (run) => {
    const service = found(putsOf(run, 'services/chaos/web')[0], 'Service');
    addObject(revisionAt(run, service.at.atMs + 1000), 'services', {
      ...service.object,
      metadata: { namespace: 'chaos', name: 'other', uid: 'other' },
    });
  }),
];

function isEvent(item: ClientWatch | undefined): boolean {
  return item?.type === 'ADDED' || item?.type === 'MODIFIED' || item?.type === 'DELETED';
}

/** The place of an event that is followed by another one in the same watch. */
function twoEvents(items: readonly ClientWatch[]): number {
  return items.findIndex(
    (item, index) => isEvent(item) && isEvent(items[index + 1]) && item.watch === items[index + 1]?.watch,
  );
}
