import type { ClientLine } from '../artifacts.ts';
import { isTerminal } from '../history/api-objects.ts';
import { boundPods, type Mutation, mutation } from './mutation.ts';
import { CLIENT_MUTATIONS } from './mutations-of-clients.ts';
import { CONTROLLER_MUTATIONS } from './mutations-of-controllers.ts';
import {
  addObject,
  type ContainerEvent,
  edit,
  type EditableRun,
  found,
  type ObjectPut,
  putsOf,
  revisionAt,
  startsOf,
} from './editable-run.ts';

const SCHEDULER = '/gantry/elections/kube-scheduler';

/** The new term of the scheduler after its leader was killed. */
function newTerm(run: EditableRun) {
  const revision = found(
    run.history.find(({ events }) =>
      events.some((event) => event.type === 'put' && event.key === SCHEDULER && event.version === 1),
    ),
    'new term of the scheduler',
  );
  const event = found(
    revision.events.find(({ key }) => key === SCHEDULER),
    'election',
  );
  if (event.type !== 'put') throw new TypeError('the election is a deletion');
  return { revision, event };
}

/** The end of the pod that `startAgain` starts. */
export function ended(run: EditableRun): ObjectPut {
  const { labels } = lastStart(run);
  return found(
    putsOf(run, `pods/chaos/${labels['io.kubernetes.pod.name']}`).find(({ object }) => isTerminal(object)),
    'end of a pod',
  );
}

/** The container of a pod that ends by itself, and stays in the API, starts once more. */
export function startAgain(run: EditableRun, atMs: number): void {
  run.engine.push({ ...lastStart(run), atMs });
}

function lastStart(run: EditableRun): ContainerEvent {
  return found(startsOf(run, 'work-1').at(-1), 'start');
}

const calmMs = ({ run }: EditableRun) => (run.quietFromMs ?? 0) + 1000;

const LEADERS: readonly Mutation[] = [
  mutation('I1', 'an election with an older epoch', (run) => {
    Object.assign(newTerm(run).event, { createRevision: 3 });
  }),
  mutation('I1', 'a leader that takes over without a new epoch', (run) => {
    const { revision, event } = newTerm(run);
    revision.events.push({ ...event, version: 2, value: Buffer.from('other').toString('base64') });
  }),
  mutation('I2', 'a write of the epoch before', (run) => {
    const { revision } = newTerm(run);
    const late = putsOf(run, 'pods/').find(
      ({ header, event }) => header.electionKey === SCHEDULER && event.modRevision > revision.revision,
    );
    edit([found(late, 'write of the new scheduler')], () => undefined, { epoch: 10 });
  }),
  mutation('I2', 'a write of another incarnation', (run) => {
    edit(
      putsOf(run, 'pods/')
        .filter(({ header }) => header.electionKey === SCHEDULER)
        .slice(0, 1),
      () => undefined,
      { incarnation: 'restored' },
    );
  }),
  mutation('I2', 'a write of a scheduler without an epoch', (run) => {
    edit(
      putsOf(run, 'pods/')
        .filter(({ header }) => header.electionKey === SCHEDULER)
        .slice(0, 1),
      () => undefined,
      { electionKey: '', epoch: 0, incarnation: '' },
    );
  }),
  mutation('I2', 'a write of a scheduler as the leader of another election', (run) => {
    const writes = putsOf(run, 'pods/');
    const { header } = found(
      writes.find(({ header: { writer } }) => writer === 'system:kube-controller-manager'),
      'write of a controller',
    );
    const own = found(
      writes.find(({ header: { electionKey }, at }) => electionKey === SCHEDULER && at.revision < 5989),
      'write of the first scheduler',
    );
    edit([own], () => undefined, { electionKey: header.electionKey ?? '', epoch: header.epoch ?? 0 });
  }),
  mutation('I2', "a write of a user's elector after another one has its Lease", (run) => {
    writeAsElector(run, { holder: 'one' });
  }),
  mutation('I2', "a write of a user's elector in a term before its own", (run) => {
    writeAsElector(run, { transitions: '1' });
  }),
  mutation('I2', "a write of a user's elector after its Lease was made again", (run) => {
    writeAsElector(run, { uid: 'before' });
  }),
  mutation('I3', 'a container of a pod that had succeeded', (run) => {
    startAgain(run, ended(run).at.atMs + 20_000);
  }),
  mutation('I3', 'a container of a pod that had been given up', (run) => {
    edit([ended(run)], () => undefined, { writer: 'system:kube-controller-manager' });
    startAgain(run, calmMs(run) + 20_000);
  }),
  mutation('I3', 'a container on a node that its pod is not bound to', (run) => {
    const start = found(startsOf(run, 'web')[0], 'start of web');
    run.engine.push({ ...start, id: 'other', labels: { ...start.labels, 'gantry.node': 'vm-9' } });
  }),
  mutation('I4', 'a former leader that believes it leads', (run) => {
    const lines = found(run.metrics.get('scheduler.jsonl'), 'metrics');
    const late = found(
      lines.findLast(({ value, atMs, sentMs }) => value === 1 && atMs - sentMs < 400),
      'sample of a leader',
    );
    Object.assign(late, { instance: 'another' });
  }),
  mutation('I4', 'a leader whose term has ended, while nobody else leads', (run) => {
    const lines = found(run.metrics.get('scheduler.jsonl'), 'metrics');
    const late = found(
      lines.findLast(({ value, atMs, sentMs }) => value === 1 && atMs - sentMs < 400),
      'sample of a leader',
    );
    const before = found(
      run.history.findLast((one) => one.atMs < late.sentMs),
      'revision before the sample',
    );
    // What the term and later ones wrote since.
    for (const later of run.history.filter(({ revision }) => revision > before.revision)) {
      later.events = later.events.filter(({ key }) => key !== SCHEDULER);
    }
    before.events.push({ type: 'delete', key: SCHEDULER, modRevision: before.revision });
  }),
  mutation('I4', "two leaders of a user's election at once", (run) => {
    const leads = (atMs: number, value: string): ClientLine => ({
      atMs,
      observe: 'leads',
      key: 'chaos/elector',
      value,
    });
    run.clients.set('electors-0.jsonl', [leads(1000, 'one'), leads(2000, 'two')]);
  }),
  mutation('I5', 'a binding to a node that was cordoned before the election', (run) => {
    cordonEarly(run);
  }),
  mutation('I6', 'an election that takes a minute', delayElection),
  mutation('I6', 'an election that takes a minute after its leader was cut off from etcd', (run) => {
    delayElection(run);
    const cut = { kind: 'cut', target: 'scheduler/leader etcd' };
    for (const [index, fault] of run.faults.entries())
      if (fault.id === 'f1')
        run.faults[index] = { ...fault, ...cut, ...(fault.phase === 'start' && { detail: fault.target }) };
  }),
  mutation('I6', 'a leader that is cut off from the API and does not resign', (run) => {
    const cut = { id: 'f9', kind: 'cut', target: 'controller-manager/leader apiserver' };
    const atMs = calmMs(run);
    run.faults.push(
      { ...cut, phase: 'start', atMs, detail: `cut ${run.run.clusterId}-controller-manager-2` },
      { ...cut, phase: 'heal', atMs: atMs + 35_000 },
    );
  }),
];

/** A Lease in its second term, and a write of its holder, or of another term. */
export function writeAsElector(run: EditableRun, other: Readonly<Record<string, string>> = {}): void {
  const metadata = { namespace: 'chaos', name: 'writer', uid: 'lease' };
  addObject(revisionAt(run, 1000), 'coordination.k8s.io/leases', {
    metadata,
    spec: { holderIdentity: 'two', leaseTransitions: 2 },
  });
  const term = { lease: 'chaos/writer', uid: 'lease', holder: 'two', transitions: '2', ...other };
  const data = { fence: new URLSearchParams(term).toString(), turn: '0' };
  addObject(revisionAt(run, 2000), 'configmaps', { metadata: { ...metadata, uid: 'written' }, data });
}

/** Puts a minute between the end of the scheduler's term and the next one. */
export function delayElection(run: EditableRun): void {
  const { revision } = newTerm(run);
  const later = run.history.filter((one) => one.revision >= revision.revision);
  for (const one of later) one.atMs += 60_000;
  run.run = { ...run.run, endedAtMs: run.run.endedAtMs + 60_000 };
}

/** Cordons all nodes, from before the run. */
function cordonEarly(run: EditableRun): void {
  for (const revision of [
    {
      atMs: 0,
      revision: run.initial.revision,
      events: run.initial.keys.map((kv) => ({ ...kv, type: 'put' as const })),
    },
  ]) {
    const initial = { ...run, history: [revision] };
    const nodes = putsOf(initial, 'nodes/');
    cordon(nodes);
    for (const { event } of nodes)
      Object.assign(
        found(
          run.initial.keys.find(({ key }) => key === event.key),
          'node',
        ),
        { value: event.value },
      );
  }
  cordon(putsOf(run, 'nodes/'));
}

function cordon(nodes: readonly ObjectPut[]): void {
  edit(nodes, (node) => {
    node.spec = { ...node.spec, unschedulable: true };
  });
}

const PODS: readonly Mutation[] = [
  mutation('I7', 'a pod that moves to another node', (run) => {
    const [first, ...later] = boundPods(run, 'chaos/web');
    const same = later.filter(({ event }) => event.key === first?.event.key);
    edit(same, (pod) => {
      pod.spec = { ...pod.spec, nodeName: 'vm-9' };
    });
  }),
  mutation('I8', 'a container that is doubled on another node', (run) => {
    const start = found(startsOf(run, 'web')[0], 'start of web');
    run.engine.push({
      ...start,
      id: 'double',
      atMs: start.atMs + 1,
      labels: { ...start.labels, 'gantry.node': 'vm-9' },
    });
  }),
  mutation('I9', 'a second pod of an ordinal that runs while the first one does', (run) => {
    const start = found(startsOf(run, 'db-0')[0], 'start of db-0');
    run.engine.push({
      ...start,
      id: 'double',
      atMs: start.atMs + 1,
      labels: { ...start.labels, 'io.kubernetes.pod.uid': 'other' },
    });
  }),
  mutation('I9', 'a former pod of an ordinal that still takes what clients append', (run) => {
    const appended = (atMs: number, uid: string): ClientLine => ({
      atMs,
      observe: 'appended',
      key: 'chaos/db-0',
      value: `${atMs}@${uid}`,
    });
    run.clients.set('appends-0.jsonl', [appended(1000, 'one'), appended(2000, 'two'), appended(3000, 'one')]);
  }),
  mutation('I10', 'a container without a pod', (run) => {
    const start = found(startsOf(run, 'web')[0], 'start of web');
    const last = run.engine.findLastIndex((line) => 'snapshot' in line);
    run.engine.splice(last, 1);
    run.engine.push({
      ...start,
      id: 'orphan',
      atMs: calmMs(run),
      labels: { ...start.labels, 'io.kubernetes.pod.uid': 'gone' },
    });
  }),
  mutation('I10', 'a pod that is reported as running without its container', (run) => {
    const pod = found(boundPods(run, 'chaos/db-0').at(-1), 'db-0').object;
    const id = pod.status?.containerStatuses?.[0]?.containerID?.split('://')[1];
    const start = found(
      startsOf(run, 'db-0').find((one) => one.id === id),
      'container of db-0',
    );
    const last = run.engine.findLastIndex((line) => 'snapshot' in line);
    run.engine.splice(last, 1);
    run.engine.push({ ...start, action: 'die', atMs: calmMs(run) });
  }),
  mutation('I11', 'a running pod that is pending again', (run) => {
    const running = boundPods(run, 'chaos/web').filter(({ object }) => object.status?.phase === 'Running');
    const again = running.find(({ event }, index) =>
      running.slice(0, index).some((one) => one.event.key === event.key),
    );
    edit([found(again, 'second report of a running pod')], (pod) => {
      pod.status = { ...pod.status, phase: 'Pending' };
    });
  }),
  mutation('I11', 'a deletion that is taken back', (run) => {
    const leaving = putsOf(run, 'pods/chaos/web').filter(
      ({ object }) => object.metadata?.deletionTimestamp !== undefined,
    );
    const first = found(leaving[0], 'deletion of a pod').event.key;
    edit(leaving.filter(({ event }) => event.key === first).slice(-1), (pod) => {
      delete pod.metadata?.deletionTimestamp;
    });
  }),
  mutation('I12', 'a container that ends while its agent is restarted', (run) => {
    const fault = found(
      run.faults.find(({ target, phase }) => /agent/.test(target) && phase === 'start'),
      'fault of an agent',
    );
    const start = found(
      startsOf(run, '').find(({ labels, id, atMs }) => {
        const lives = !run.engine.some((line) => 'action' in line && line.id === id && line.action === 'die');
        return labels['gantry.node'] === 'vm-1' && atMs < fault.atMs && lives;
      }),
      'container of the agent',
    );
    run.engine.push({ ...start, action: 'die', atMs: fault.atMs + 1 });
  }),
  mutation('I13', 'a controller that removes a running pod', (run) => {
    const pods = boundPods(run, 'chaos/web');
    edit(pods, (pod) => {
      pod.status = { ...pod.status, phase: 'Running' };
      if (pod.metadata?.deletionGracePeriodSeconds === 0) pod.metadata.deletionGracePeriodSeconds = 30;
    });
    const keys = new Set(pods.map(({ event }) => event.key));
    const removal = found(
      run.history.find(({ events }) => events.some(({ type, key }) => type === 'delete' && keys.has(key))),
      'removal of a pod',
    );
    const key = found(
      removal.events.find((event) => event.type === 'delete' && keys.has(event.key)),
      'deletion',
    ).key;
    const epoch = found(
      putsOf(run, 'apps/replicasets/').findLast(({ at }) => at.revision < removal.revision),
      'ReplicaSet',
    ).header;
    const value = Buffer.from(JSON.stringify({ electionKey: epoch.electionKey, epoch: epoch.epoch })).toString(
      'base64',
    );
    const place = { createRevision: removal.revision, modRevision: removal.revision, version: 1 };
    removal.events.push({ type: 'put', key: `/gantry/deleted${key}`, value, ...place });
  }),
];

export const MUTATIONS: readonly Mutation[] = [...LEADERS, ...PODS, ...CONTROLLER_MUTATIONS, ...CLIENT_MUTATIONS];
