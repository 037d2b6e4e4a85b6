import fc from 'fast-check';
import type { EtcdEvent } from '../artifacts.ts';
import { REGISTRY } from '../history/stored-value.ts';
import type { EditableObject, EditableRun } from './editable-run.ts';
import { encodeStored } from './encode-stored.ts';

const ELECTION = '/gantry/elections/kube-scheduler';
const NODES = ['n1', 'n2', 'n3'];

/** What happens next in a generated run. `pick` chooses the pod and the node. */
export interface GeneratedStep {
  readonly kind: 'elect' | 'create' | 'bind' | 'run' | 'remove' | 'serve';
  readonly pick: number;
}

/** Steps of a cluster that does right. */
export const GENERATED_STEPS: fc.Arbitrary<readonly GeneratedStep[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('elect', 'create', 'create', 'bind', 'bind', 'run', 'run', 'remove', 'serve'),
    pick: fc.nat(1000),
  }),
  { minLength: 5, maxLength: 60 },
);

interface PodState {
  readonly object: EditableObject;
  readonly key: string;
  version: number;
  createRevision: number;
}

/** The run in which the steps happen, as far as each is possible. */
export function generateRun(steps: readonly GeneratedStep[]): EditableRun {
  const run = emptyRun();
  const pods: PodState[] = [];
  let epoch = 2;
  let addresses = 0;
  const commit = (events: (revision: number) => EtcdEvent[]) => {
    const revision = run.run.firstRevision + run.history.length;
    run.history.push({ atMs: 10 * revision, revision, events: events(revision) });
  };
  const write = (pod: PodState) => {
    commit((revision) => {
      if (pod.version === 0) pod.createRevision = revision;
      const value = encodeStored(pod.object, { electionKey: ELECTION, epoch }).toString('base64');
      const { key, createRevision } = pod;
      return [{ type: 'put', key, value, createRevision, modRevision: revision, version: ++pod.version }];
    });
  };
  for (const { kind, pick } of steps) {
    const pod = pods[pick % Math.max(1, pods.length)];
    const isBound = pod?.object.spec?.nodeName !== undefined;
    if (kind === 'elect') {
      commit((revision) => [{ type: 'delete', key: ELECTION, modRevision: revision }]);
      commit((revision) => {
        epoch = revision;
        return [
          { type: 'put', key: ELECTION, value: 'YQ==', createRevision: revision, modRevision: revision, version: 1 },
        ];
      });
    } else if (kind === 'create') {
      const name = `p${run.history.length}`;
      pods.push({
        object: { metadata: { name, namespace: 'a', uid: name } },
        key: `${REGISTRY}pods/a/${name}`,
        version: 0,
        createRevision: 0,
      });
      write(pods.at(-1) as PodState);
    } else if (kind === 'serve') {
      const name = `s${run.history.length}`;
      const value = encodeStored({
        metadata: { name, namespace: 'a', uid: name },
        spec: { clusterIPs: [`10.1.0.${++addresses}`] },
      });
      commit((revision) => [
        {
          type: 'put',
          key: `${REGISTRY}services/a/${name}`,
          value: value.toString('base64'),
          createRevision: revision,
          modRevision: revision,
          version: 1,
        },
      ]);
    } else if (pod === undefined || (kind === 'run' && !isBound) || (kind === 'bind' && isBound)) {
      // Not possible in this state.
    } else if (kind === 'bind') {
      pod.object.spec = { nodeName: NODES[pick % NODES.length] ?? 'n1' };
      write(pod);
    } else if (kind === 'run') {
      pod.object.status ??= { phase: 'Running', podIPs: [{ ip: `10.2.0.${++addresses}` }] };
      write(pod);
    } else {
      pods.splice(pods.indexOf(pod), 1);
      commit((revision) => [{ type: 'delete', key: pod.key, modRevision: revision }]);
    }
  }
  run.run = { ...run.run, lastRevision: run.run.firstRevision + run.history.length - 1, endedAtMs: 10_000 };
  return run;
}

function emptyRun(): EditableRun {
  const put = { createRevision: 2, modRevision: 2, version: 1 };
  const nodes = NODES.map((name) => {
    const node = { metadata: { name, uid: name }, status: { allocatable: { pods: '110' } } };
    return { key: `${REGISTRY}nodes/${name}`, value: encodeStored(node).toString('base64'), ...put };
  });
  return {
    run: {
      format: 1,
      clusterId: 'generated',
      seed: 1,
      startedAt: '2026-01-01T00:00:00Z',
      endedAt: '2026-01-01T00:00:10Z',
      startedAtMs: 0,
      endedAtMs: 0,
      options: {},
      plan: [],
      incarnation: '',
      etcdMembers: ['etcd-0', 'etcd-1'],
      firstRevision: 3,
      lastRevision: 2,
    },
    initial: { revision: 2, keys: [{ key: ELECTION, value: 'YQ==', ...put }, ...nodes] },
    history: [],
    engine: [],
    faults: [],
    clients: new Map(),
    metrics: new Map(),
  };
}
