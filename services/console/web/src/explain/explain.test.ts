import type { Event, Node, ObjectMeta, Pod, PodSpec, PodStatus, ReplicaSet } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { formatAmount, judgeNodes } from './nodes.ts';
import { explainPod, type PodSurroundings } from './pod.ts';
import { explainWorkload, type WorkloadSurroundings } from './rollout.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();

const pod = (spec: Partial<PodSpec> = {}, status: PodStatus = {}, metadata: ObjectMeta = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-1', namespace: 'n', uid: 'pod-1', ...metadata },
  spec: { containers: [{ name: 'web', image: 'web:1' }], ...spec },
  status,
});
const node = (
  name: string,
  more: { labels?: Record<string, string>; spec?: Node['spec']; cpu?: string } = {},
): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: more.labels ?? {} },
  spec: more.spec ?? {},
  status: { allocatable: { cpu: more.cpu ?? '2', memory: '1Gi', pods: '10' } },
});
const requests = (cpu: string): Partial<PodSpec> => ({
  containers: [{ name: 'web', resources: { requests: { cpu } } }],
});
const on = (name: string, spec: Partial<PodSpec>, uid: string) =>
  pod({ ...spec, nodeName: name }, { phase: 'Running' }, { uid, name: uid });

describe('judgeNodes', () => {
  const reasons = (one: Pod, of: Node, pods: readonly Pod[] = []) =>
    judgeNodes(one, { nodes: [of], pods, volumes: [] })[0]?.reasons;

  it('finds nothing against a node that fits', () => expect(reasons(pod(requests('1')), node('a'))).toEqual([]));

  it('names taints, and a cordon by its name', () => {
    const taint = { key: 'gpu', value: 'yes', effect: 'NoSchedule' };
    expect(reasons(pod(), node('a', { spec: { taints: [taint] } }))).toEqual([
      'the pod does not tolerate its taint gpu=yes:NoSchedule',
    ]);
    const tolerant = pod({ tolerations: [{ key: 'gpu', operator: 'Exists' }] });
    expect(reasons(tolerant, node('a', { spec: { taints: [taint] } }))).toEqual([]);
    const cordon = { unschedulable: true, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] };
    expect(reasons(pod(), node('a', { spec: cordon }))).toEqual(['it is cordoned']);
  });

  it('names the selector that does not match', () => {
    expect(reasons(pod({ nodeSelector: { disk: 'ssd' } }), node('a'))).toEqual([
      'its labels do not match the node selector disk=ssd',
    ]);
  });

  it('counts what other pods have requested, without pods that have ended and without itself', () => {
    const others = [on('a', requests('1500m'), 'other'), on('b', requests('2'), 'elsewhere')];
    expect(reasons(pod(requests('1')), node('a'), others)).toEqual(['it has 500m cpu free of 2; the pod requests 1']);
    const ended = pod({ ...requests('2'), nodeName: 'a' }, { phase: 'Succeeded' }, { uid: 'ended' });
    expect(reasons(pod(requests('1')), node('a'), [ended])).toEqual([]);
    expect(reasons(pod(requests('2')), node('a'), [on('a', requests('2'), 'pod-1')])).toEqual([]);
  });

  it('names who has the host port', () => {
    const ports = { containers: [{ name: 'web', ports: [{ containerPort: 80, hostPort: 80 }] }] };
    expect(reasons(pod(ports), node('a'), [on('a', ports, 'first')])).toEqual(['its port 80/TCP is taken by n/first']);
  });
});

describe('formatAmount', () => {
  it.each([
    ['cpu', 1500, '1.5'],
    ['cpu', 250, '250m'],
    ['memory', 512 * 1024 * 1024, '512Mi'],
    ['memory', 1536 * 1024 * 1024, '1.5Gi'],
    ['pods', 12, '12'],
  ])('writes %s %d as %s', (name, amount, text) => expect(formatAmount(name, amount)).toBe(text));
});

describe('explainPod', () => {
  const texts = (one: Pod, around: Partial<PodSurroundings> = {}) =>
    explainPod(one, { now: NOW, events: [], ...around }).map(({ text, details = [] }) => [text, ...details].join(' '));

  it('says what the scheduler says, and what each node says', () => {
    const waiting = pod(requests('3'), {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', message: '0/2 nodes are available' }],
    });
    expect(texts(waiting, { nodes: [node('a'), node('b', { cpu: '4' })], pods: [] })).toEqual([
      'No node takes it. The scheduler says: 0/2 nodes are available',
      '1 of 2 nodes cannot take it: a: it has 2 cpu free of 2; the pod requests 3',
      'Nothing that is seen here forbids b.',
    ]);
  });

  it('names gates and claims', () => {
    expect(texts(pod({ schedulingGates: [{ name: 'wait.example' }] }))).toEqual([
      'It is not scheduled before these gates are removed: wait.example.',
    ]);
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data' },
      spec: { storageClassName: 'fast' },
      status: { phase: 'Pending' },
    } as never;
    const withClaim = pod({ volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] });
    expect(texts(withClaim, { claims: [claim] })).toContain(
      'Its claim data is Pending: no volume is bound to it (class fast).',
    );
    expect(texts(withClaim, { claims: [] })[0]).toBe('It needs the PersistentVolumeClaim data, which does not exist.');
  });

  it('names ConfigMaps and Secrets that do not exist, but not optional ones or unseen ones', () => {
    const container = {
      name: 'web',
      envFrom: [
        { configMapRef: { name: 'a' } },
        { secretRef: { name: 's' } },
        { configMapRef: { name: 'o', optional: true } },
      ],
      env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'opt', key: 'k', optional: true } } }],
    };
    const one = pod({ containers: [container], nodeName: 'a' });
    expect(texts(one, { configMaps: new Set(), secrets: new Set() })).toEqual([
      'It needs the ConfigMap a, which does not exist.',
      'It needs the Secret s, which does not exist.',
    ]);
    expect(texts(one)).toHaveLength(1);
  });

  const running = (status: object): Pod =>
    pod(
      { nodeName: 'a' },
      {
        phase: 'Running',
        containerStatuses: [{ name: 'web', image: 'web:1', imageID: '', ready: false, restartCount: 0, ...status }],
      },
    );

  it('explains images, crashes, and what killed a container', () => {
    expect(texts(running({ state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } }))[0]).toBe(
      'The container web does not start: its image web:1 cannot be pulled. no such image',
    );
    const crash = running({
      restartCount: 4,
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
      lastState: { terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt: ago(30) } },
    });
    expect(texts(crash)[0]).toBe(
      'The container web ends again and again (4 restarts). It last ended 30s ago with 137: it used more memory than its limit. back-off 40s',
    );
  });

  it('explains probes by what they said', () => {
    const one = running({ state: { running: { startedAt: ago(10) } } });
    const event = {
      reason: 'Unhealthy',
      message: 'Readiness probe failed: 503',
      involvedObject: { fieldPath: 'spec.containers{web}' },
    };
    expect(texts(one, { events: [event as unknown as Event] })[0]).toBe(
      'The container web runs, but is not ready. Readiness probe failed: 503',
    );
  });

  it('counts init containers', () => {
    const one = pod(
      { nodeName: 'a' },
      {
        phase: 'Pending',
        initContainerStatuses: [
          { name: 'one', image: '', imageID: '', ready: true, restartCount: 0, state: { terminated: { exitCode: 0 } } },
          {
            name: 'two',
            image: '',
            imageID: '',
            ready: false,
            restartCount: 0,
            state: { waiting: { reason: 'PodInitializing' } },
          },
        ],
      },
    );
    expect(texts(one)[0]).toBe('1 of 2 init containers have ended; two is next.');
  });

  it('says what a deletion waits for', () => {
    const one = pod(
      { nodeName: 'a' },
      {},
      { deletionTimestamp: ago(60), deletionGracePeriodSeconds: 30, finalizers: ['x/y'] },
    );
    expect(texts(one).slice(0, 2)).toEqual([
      'It is being deleted, and its time to end (30 s) was over 60s ago.',
      'It stays until these finalizers are removed: x/y.',
    ]);
  });

  it('says that all is well', () => {
    const conditions = [{ type: 'Ready', status: 'True' }];
    expect(texts(pod({ nodeName: 'a' }, { phase: 'Running', conditions }))).toEqual(['It runs on a and is ready.']);
  });
});

describe('explainWorkload', () => {
  const owner = (kind: string, uid: string) => ({
    ownerReferences: [{ apiVersion: 'apps/v1', kind, name: uid, uid, controller: true }],
  });
  const set = (uid: string, revision: string, status: object): ReplicaSet => ({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      ...owner('Deployment', 'd'),
      uid,
      name: uid,
      annotations: { 'deployment.kubernetes.io/revision': revision },
    },
    status: { replicas: 0, ...status },
  });
  const deployment = (status: object = {}, spec: object = {}) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { uid: 'd', name: 'web', generation: 2 },
    spec: { replicas: 2, ...spec },
    status: { observedGeneration: 2, ...status },
  });
  const texts = (workload: ReturnType<typeof deployment>, around: Partial<WorkloadSurroundings> = {}) =>
    explainWorkload(workload, {
      now: NOW,
      events: [],
      replicaSets: [],
      namespacePods: [],
      namespaceEvents: [],
      ...around,
    }).map(({ text, details = [] }) => [text, ...details].join(' '));

  it('explains a rollout that waits for a pod', () => {
    const stuck = pod(
      { nodeName: 'a' },
      {
        phase: 'Pending',
        containerStatuses: [
          {
            name: 'web',
            image: 'web:2',
            imageID: '',
            ready: false,
            restartCount: 0,
            state: { waiting: { reason: 'ErrImagePull', message: 'gone' } },
          },
        ],
      },
      owner('ReplicaSet', 'new'),
    );
    const found = texts(deployment(), {
      replicaSets: [set('old', '1', { replicas: 2 }), set('new', '2', { replicas: 1, availableReplicas: 0 })],
      namespacePods: [stuck],
    });
    expect(found[0]).toContain('A rollout runs: 0 of 2 pods of revision 2 are available, 2 older pods left.');
    expect(found).toContain('web-1: The container web does not start: its image web:2 cannot be pulled. gone');
  });

  it('says once what is the same for several pods', () => {
    const waiting = (name: string) => pod({}, { phase: 'Pending' }, { ...owner('ReplicaSet', 'new'), uid: name, name });
    const found = texts(deployment(), {
      replicaSets: [set('new', '1', {})],
      namespacePods: [waiting('a'), waiting('b')],
    });
    expect(found).toEqual(['0 of 2 pods are ready.', '2 pods: The scheduler has not looked at it yet. a, b']);
  });

  it('explains pods that a quota forbids', () => {
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'small' },
      status: {
        hard: { pods: '1', services: '5', secrets: '3', 'requests.storage': '1Gi' },
        used: { pods: '1', services: '1', secrets: '3', 'requests.storage': '1Gi' },
      },
    };
    const event = { reason: 'FailedCreate', message: 'exceeded quota', involvedObject: { uid: 'new' } };
    const found = texts(deployment(), {
      replicaSets: [set('new', '1', {})],
      quotas: [quota],
      namespaceEvents: [event as unknown as Event],
    });
    expect(found).toContain('2 pods cannot be made: exceeded quota The quota small is used up: pods 1 of 1.');
  });

  it('says when nobody has seen the change, a pause, and a missed deadline', () => {
    expect(texts(deployment({ observedGeneration: 1 }))[0]).toContain('has not seen the latest change');
    const paused = { ...deployment({}, { paused: true }) };
    expect(texts(paused).join(' ')).toContain('It is paused');
    const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'web-x' }];
    expect(texts(deployment({ conditions })).join(' ')).toContain('no progress for 600 s. web-x');
  });

  it('says that all is well', () => {
    const ready = (uid: string) =>
      pod({}, { conditions: [{ type: 'Ready', status: 'True' }] }, { ...owner('ReplicaSet', 'new'), uid });
    const found = texts(deployment(), { replicaSets: [set('new', '1', {})], namespacePods: [ready('a'), ready('b')] });
    expect(found).toEqual(['All 2 pods are ready.']);
  });

  describe('of a StatefulSet or DaemonSet, why pods have an earlier revision', () => {
    const of = (kind: string, status: object, updateStrategy: object = {}) =>
      texts({ ...deployment(status, { updateStrategy }), kind })[0];
    const REPLACES =
      'Its strategy replaces pods while no more than 1 are unavailable: one that does not become ready holds up the others.';

    it('says how many, and what the strategy does', () => {
      expect(of('StatefulSet', { replicas: 3, updatedReplicas: 1 })).toBe(
        `1 of 3 pods have the newest revision. ${REPLACES}`,
      );
      const daemons = { desiredNumberScheduled: 4, currentNumberScheduled: 4, updatedNumberScheduled: 2 };
      const rollingUpdate = { maxUnavailable: '25%' };
      expect(of('DaemonSet', daemons, { rollingUpdate })).toContain('2 of 4 pods have the newest revision.');
      expect(of('DaemonSet', daemons, { rollingUpdate })).toContain('no more than 25% are unavailable');
    });

    it('says that nobody replaces them, or not those below a partition', () => {
      const status = { replicas: 3, updatedReplicas: 1 };
      expect(of('StatefulSet', status, { type: 'OnDelete' })).toContain('when somebody deletes it');
      const spec = { updateStrategy: { rollingUpdate: { partition: 2 } } };
      const partitioned = (more: object, ...revisions: readonly string[]) => {
        const namespacePods = revisions.map((revision, index) => {
          const labels = { 'controller-revision-hash': revision };
          return pod({}, {}, { ...owner('StatefulSet', 'd'), uid: `${index}`, name: `web-${index + 9}`, labels });
        });
        const set = deployment({ replicas: 4, updatedReplicas: 1, updateRevision: 'new' }, { ...spec, ...more });
        return texts({ ...set, kind: 'StatefulSet' }, { namespacePods })[0];
      };
      const kept = '1 of 4 pods have the newest revision. Its partition is 2: pods with numbers below';
      const ordinals = { start: 9 };
      expect(partitioned({ ordinals }, 'old', 'old', 'new', 'new')).toBe(`${kept} 11 keep their revision.`);
      expect(partitioned({ ordinals }, 'old', 'old', 'old', 'new'), 'one that it does not keep').toBe(
        `${kept} 11 keep their revision. Not kept by it: web-11. ${REPLACES}`,
      );
      expect(partitioned({}, 'old', 'new'), 'numbers, not places in a list').toBe(
        `${kept} 2 keep their revision. Not kept by it: web-9. ${REPLACES}`,
      );
      expect(partitioned({}), 'no pod may be listed').toBe(`${kept} 2 keep their revision. ${REPLACES}`);
    });

    it('says nothing of it when all have the newest one', () => {
      expect(of('StatefulSet', { replicas: 2, updatedReplicas: 2 })).toBe('0 of 2 pods are ready.');
    });
  });

  describe('of a Job', () => {
    const of = (status: object, spec: object = {}, around: Partial<WorkloadSurroundings> = {}) =>
      texts({ ...deployment(status, { completions: 3, ...spec }), kind: 'Job' }, around);

    it('says what it waits for, with its pods', () => {
      const waiting = pod({}, { phase: 'Pending' }, owner('Job', 'd'));
      expect(of({ active: 1, ready: 0, succeeded: 1, failed: 2 }, {}, { namespacePods: [waiting] })).toEqual([
        '1 of 3 pods have succeeded; 1 run or wait, 0 of them ready.',
        '2 pods failed; the Job fails after more than 6.',
        'web-1: The scheduler has not looked at it yet.',
      ]);
    });

    it('says why no pod is made', () => {
      const event = { reason: 'FailedCreate', message: 'exceeded quota', involvedObject: { uid: 'd' } };
      expect(of({}, {}, { namespaceEvents: [event as unknown as Event] })[1]).toBe(
        '3 pods cannot be made: exceeded quota',
      );
      expect(of({}, { suspend: true })).toEqual(['It is suspended: it makes no pods.']);
    });

    it('says how it has ended', () => {
      const ended = (type: string) => ({
        conditions: [{ type, status: 'True', reason: 'BackoffLimitExceeded', message: 'too many' }],
      });
      expect(of({ succeeded: 3, ...ended('Complete') })).toEqual(['It is complete: 3 pods succeeded.']);
      expect(of(ended('Failed'))).toEqual(['It has failed (BackoffLimitExceeded). too many']);
    });
  });
});
