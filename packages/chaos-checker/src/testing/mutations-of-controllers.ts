import type { ClientLine } from '../artifacts.ts';
import { addObject, edit, type EditableRun, found, type ObjectPut, putsOf, revisionAt } from './editable-run.ts';
import { boundPods, type Mutation, mutation } from './mutation.ts';

/** Puts a copy of a pod beside it, with the same owner and writer. */
function addCopy(original: ObjectPut, number: number): void {
  const object = structuredClone(original.object);
  const name = `${object.metadata?.name}-copy-${number}`;
  object.metadata = { ...object.metadata, name, uid: `copy-${number}` };
  const { index: _, ...header } = original.header;
  addObject(original.at, 'pods', object, header);
}

const creationOf = (run: EditableRun, prefix: string) =>
  found(
    putsOf(run, `pods/chaos/${prefix}`).findLast(({ event }) => event.version === 1),
    `creation of ${prefix}`,
  );

/** The last put of each object. */
function lastPuts(puts: readonly ObjectPut[]): readonly ObjectPut[] {
  return [...new Map(puts.map((put) => [put.event.key, put])).values()];
}

/** Has the first index of the Job done again, by a pod that is created 1 s after the success of the first one. Returns that success. */
export function repeatIndex(run: EditableRun): ObjectPut {
  const pods = putsOf(run, 'pods/chaos/work-0');
  const first = found(
    pods.find(({ object }) => object.status?.phase === 'Succeeded'),
    'success of the Job',
  );
  const again = structuredClone(first.object);
  again.metadata = { ...again.metadata, name: 'work-0-again', uid: 'again', annotations: {} };
  again.status = { phase: 'Running' };
  addObject(revisionAt(run, first.at.atMs + 1000), 'pods', again);
  const mark = (uid: string | undefined): ClientLine => ({
    atMs: run.run.endedAtMs - 1,
    observe: 'job-done',
    key: 'chaos/work',
    value: `0@${uid}`,
  });
  run.clients.set('marks-0.jsonl', [mark(first.object.metadata?.uid), mark('again')]);
  return first;
}

export const CONTROLLER_MUTATIONS: readonly Mutation[] = [
  mutation('I14', 'more pods than maxSurge allows', (run) => {
    edit(putsOf(run, 'apps/replicasets/chaos/web'), (object) => {
      object.spec = { ...object.spec, replicas: 30 };
    });
    for (const number of [1, 2, 3, 4]) addCopy(creationOf(run, 'web'), number);
  }),
  mutation('I14', 'a deletion below maxUnavailable', (run) => {
    edit(putsOf(run, 'apps/deployments/chaos/web'), (object) => {
      object.spec = { ...object.spec, replicas: 30 };
    });
  }),
  mutation('I15', 'a replica of a set that has all of them', (run) => {
    const at = revisionAt(run, (run.run.quietFromMs ?? 0) + 1000);
    addCopy({ ...creationOf(run, 'web'), at }, 1);
  }),
  mutation('I15', 'a replica that is deleted in steady state', (run) => {
    edit(putsOf(run, 'apps/replicasets/chaos/web'), (object) => {
      object.spec = { ...object.spec, replicas: 30 };
    });
  }),
  mutation('I16', 'a pod that a Job counts twice', (run) => {
    edit(lastPuts(putsOf(run, 'batch/jobs/chaos/work')), (job) => {
      job.status = { ...job.status, succeeded: 4 };
    });
  }),
  mutation('I16', 'a schedule that fires twice', (run) => {
    const job = found(
      putsOf(run, 'batch/jobs/chaos/tick').find(({ event }) => event.version === 1),
      'Job of the CronJob',
    );
    const again = structuredClone(job.object);
    again.metadata = { ...again.metadata, name: 'tick-again', uid: 'again' };
    addObject(revisionAt(run, job.at.atMs + 1000), 'batch/jobs', again);
  }),
  mutation('I16', 'an index that runs again after it has completed', (run) => {
    const pod = found(
      putsOf(run, 'pods/chaos/work-0').find(({ event }) => event.version === 1),
      'pod of the Job',
    );
    const again = structuredClone(pod.object);
    again.metadata = { ...again.metadata, name: 'work-0-again', uid: 'again' };
    addObject(revisionAt(run, (run.run.quietFromMs ?? 0) + 1000), 'pods', again);
  }),
  mutation('I16', 'a second pod for an index', (run) => {
    addCopy(creationOf(run, 'work-0'), 1);
  }),
  mutation('I16', 'more pods at once than the parallelism', (run) => {
    edit(putsOf(run, 'batch/jobs/chaos/work'), (job) => {
      job.spec = { ...job.spec, parallelism: 1 };
    });
  }),
  mutation('I16', 'a mark of an index that was made again', (run) => void repeatIndex(run)),
  mutation('I17', 'two daemons on a node', (run) => {
    addCopy(found(boundPods(run, 'chaos/ds-')[0], 'daemon'), 1);
  }),
  mutation('I18', 'an eviction below minAvailable', (run) => {
    edit(putsOf(run, 'policy/poddisruptionbudgets/chaos/web'), (budget) => {
      budget.spec = { ...budget.spec, minAvailable: 10 };
    });
  }),
  mutation('I18', 'a budget that allows fewer than no disruption', (run) => {
    edit(putsOf(run, 'policy/poddisruptionbudgets/chaos/web').slice(-1), (budget) => {
      budget.status = { ...budget.status, disruptionsAllowed: -1 };
    });
  }),
  mutation('I19', 'a use beyond the limit', (run) => {
    edit(putsOf(run, 'resourcequotas/chaos/limits').slice(-1), (quota) => {
      quota.status = { ...quota.status, used: { ...quota.status?.used, pods: '31' } };
    });
  }),
  mutation('I19', 'an object more than the limit', (run) => {
    const at = revisionAt(run, 1000);
    for (const name of Array.from({ length: 40 }, (_, index) => `more-${index}`))
      addObject(at, 'services', { metadata: { namespace: 'chaos', name, uid: name } });
  }),
  mutation('I19', 'a use that is less than the objects', (run) => {
    edit(putsOf(run, 'resourcequotas/chaos/limits').slice(-1), (quota) => {
      quota.status = { ...quota.status, used: { ...quota.status?.used, services: '0' } };
    });
  }),
  mutation('I20', 'an object with finalizers that is removed without a request', (run) => {
    const removed = new Set(
      run.history.flatMap(({ events }) => events.flatMap(({ type, key }) => (type === 'delete' ? [key] : []))),
    );
    edit(
      putsOf(run, 'configmaps/chaos/').filter(({ event }) => removed.has(event.key)),
      (object) => {
        object.metadata = { ...object.metadata, finalizers: ['example.com/held'] };
      },
    );
  }),
  mutation('I20', 'an object whose finalizer nobody has taken away', (run) => {
    const name = 'held';
    const client: ClientLine = {
      atMs: 900,
      op: 'held.1',
      phase: 'invoke',
      verb: 'create',
      resource: 'configmaps',
      key: `chaos/${name}`,
    };
    run.clients.set('held-0.jsonl', [client]);
    const metadata = {
      namespace: 'chaos',
      name,
      uid: name,
      finalizers: ['example.com/held'],
      deletionTimestamp: 'now',
    };
    addObject(revisionAt(run, 1000), 'configmaps', { metadata });
    const later = revisionAt(run, 20_000);
    later.events.push({ type: 'delete', key: `/registry/configmaps/chaos/${name}`, modRevision: later.revision });
  }),
  mutation('I20', 'an object that outlives its owner', (run) => {
    const at = revisionAt(run, (run.run.quietFromMs ?? 0) + 1000);
    const ownerReferences = [{ kind: 'ConfigMap', name: 'gone', uid: 'gone' }];
    addObject(at, 'configmaps', { metadata: { namespace: 'chaos', name: 'left', uid: 'left', ownerReferences } });
  }),
  mutation('I21', 'a generation that was not observed', (run) => {
    edit(lastPuts(putsOf(run, 'apps/deployments/chaos/web')), (object) => {
      object.status = { ...object.status, observedGeneration: 1 };
    });
  }),
  mutation('I21', 'a change shortly before the end', (run) => {
    const last = found(lastPuts(putsOf(run, 'apps/deployments/chaos/web'))[0], 'Deployment');
    const at = found(run.history.at(-1), 'revision');
    run.run = { ...run.run, endedAtMs: at.atMs + 1000 };
    const object = structuredClone(last.object);
    object.metadata = { ...object.metadata, name: 'late', uid: 'late' };
    addObject(at, 'apps/deployments', object, { writer: 'system:kube-controller-manager' });
  }),
  mutation('I21', 'an end state that differs from that of an undisturbed run', (run) => {
    const keys = new Map(run.initial.keys.map((kv) => [kv.key, kv]));
    for (const { events } of run.history)
      for (const event of events) event.type === 'put' ? keys.set(event.key, event) : keys.delete(event.key);
    keys.delete([...keys.keys()].find((key) => key.startsWith('/registry/pods/chaos/web')) ?? '');
    const plain = [...keys.values()].map(({ key, value, createRevision, modRevision, version }) => ({
      key,
      value,
      createRevision,
      modRevision,
      version,
    }));
    return { 'undisturbed.jsonl': [{ revision: run.run.lastRevision, keys: plain }] };
  }),
  mutation('I22', 'a pod that is bound beyond what the node has', (run) => {
    edit(putsOf(run, 'pods/chaos/web'), (pod) => {
      pod.spec = { ...pod.spec, containers: [{ resources: { requests: { cpu: '100' } } }] };
    });
  }),
  mutation('I23', 'a pod that waits though there is room', (run) => {
    const object = structuredClone(creationOf(run, 'ds-').object);
    delete object.metadata?.ownerReferences;
    object.metadata = { ...object.metadata, name: 'waits', uid: 'waits' };
    object.spec = { containers: [] };
    addObject(revisionAt(run, (run.run.quietFromMs ?? 0) + 1000), 'pods', object);
  }),
  mutation('I24', 'a binding against the node selector', (run) => {
    edit(putsOf(run, 'pods/chaos/web'), (pod) => {
      pod.spec = { ...pod.spec, nodeSelector: { 'kubernetes.io/hostname': 'vm-9' } };
    });
  }),
];
