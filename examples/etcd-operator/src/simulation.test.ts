import { PODS, type Pod, type ObjectClient } from '@gantry/operator';
import { type ObjectsReader, simulate, type Step } from '@gantry/operator/testing';
import { expect, test } from 'vitest';
import { etcdController } from './controller.ts';
import { type EtcdAdmin, EtcdError } from './etcd-admin.ts';
import { CONTAINER, ETCD_CLUSTERS, type EtcdCluster } from './etcd-cluster.ts';
import { etcdServices } from './services.ts';

const KEY = { namespace: 'default', name: 'db' };

interface ModelMember {
  readonly id: string;
  readonly name: string;
  isLearner: boolean;
  /** Of the pod that has its data. */
  pod: string | undefined;
  isUp: boolean;
  /** How many of the acknowledged writes it has. */
  written: number;
}

/** etcd as the operator meets it: members, their data, and changes that need a majority. */
class ModelEtcd {
  #members: ModelMember[] = [];
  #clusters = 0;
  #ids = 0;
  #leader = '';
  #acknowledged = 0;
  #chance = 0;
  #seed = 1;
  readonly wrong: string[] = [];
  onChange = (): void => undefined;

  /** A new history. Requests fail, and answers are lost, with this probability. */
  begin(chance: number): void {
    this.#members = [];
    [this.#clusters, this.#ids, this.#acknowledged, this.#leader, this.#chance] = [0, 0, 0, '', chance];
    this.wrong.length = 0;
  }

  endFaults(): void {
    this.#chance = 0;
  }

  get #voters(): readonly ModelMember[] {
    return this.#members.filter(({ isLearner }) => !isLearner);
  }

  get hasMajority(): boolean {
    return this.#voters.filter(({ isUp }) => isUp).length > this.#voters.length / 2;
  }

  get isThere(): boolean {
    return this.#clusters > 0;
  }

  /** What a client writes is acknowledged when a majority has it. */
  write(): void {
    if (!this.hasMajority) return;
    if (!this.#voters.some(({ isUp, written }) => isUp && written === this.#acknowledged)) {
      this.wrong.push('an acknowledged write is lost');
    }
    this.#acknowledged += 1;
    for (const member of this.#members) if (member.isUp) member.written = this.#acknowledged;
  }

  /** The container of a pod starts. Its data are those of the pod. */
  start(uid: string, name: string, state: string, peers: readonly string[]): void {
    const known = this.#members.find(({ pod }) => pod === uid);
    if (known !== undefined) known.isUp = true;
    else if (state === 'new') {
      this.#clusters += 1;
      if (this.#clusters > 1) this.wrong.push('another cluster was begun');
      this.#members = [{ id: String(++this.#ids), name, isLearner: false, pod: uid, isUp: true, written: 0 }];
    } else {
      const added = this.#members.find((one) => one.name === name && one.pod === undefined);
      if (added === undefined) return;
      const names = this.#members.map((one) => one.name).sort();
      if (names.join() !== peers.toSorted().join())
        this.wrong.push(`${name} begins with ${peers.join()} of ${names.join()}`);
      [added.pod, added.isUp] = [uid, true];
    }
    this.#elect();
  }

  stop(uid: string, isLost: boolean): void {
    const member = this.#members.find(({ pod }) => pod === uid);
    if (member === undefined) return;
    member.isUp = false;
    // Another pod of this name would be a member without its data.
    if (isLost) member.pod = `${uid} is lost`;
    this.#elect();
  }

  votes(uid: string): boolean {
    return this.hasMajority && this.#voters.some(({ pod, isUp }) => pod === uid && isUp);
  }

  #elect(): void {
    if (this.#voters.some(({ id, isUp }) => isUp && id === this.#leader)) return;
    this.#leader = this.#voters.find(({ isUp }) => isUp)?.id ?? '';
  }

  #random(): number {
    this.#seed = (Math.imul(this.#seed, 1_103_515_245) + 12_345) >>> 0;
    return this.#seed / 2 ** 32;
  }

  admin = (endpoints: readonly string[]): EtcdAdmin => {
    const change = async <T>(signal: AbortSignal, of: () => T): Promise<T> => {
      // A crashed process sends nothing.
      signal.throwIfAborted();
      const names = endpoints.map((one) => new URL(one).hostname.split('.')[0]);
      const isReached = this.hasMajority && this.#voters.some(({ name, isUp }) => isUp && names.includes(name));
      if (!isReached || this.#random() < this.#chance) throw new EtcdError('no member answers');
      const result = of();
      this.#elect();
      this.onChange();
      if (this.#random() < this.#chance) throw new EtcdError('the answer was lost');
      return result;
    };
    const find = (id: string): ModelMember => {
      const member = this.#members.find((one) => one.id === id);
      if (member === undefined) throw new EtcdError('etcdserver: member not found');
      return member;
    };
    return {
      membership: async (signal) => {
        const members = () => this.#members.map(({ id, name, isLearner }) => ({ id, name, isLearner }));
        try {
          return await change(signal, () => ({
            clusterId: String(this.#clusters),
            members: members(),
            leader: this.#leader,
          }));
        } catch (error) {
          if (error instanceof EtcdError) return undefined;
          throw error;
        }
      },
      addLearner: (peerUrl, signal) =>
        change(signal, () => {
          const [name = ''] = new URL(peerUrl).hostname.split('.');
          if (this.#members.some((one) => one.name === name || one.isLearner))
            throw new EtcdError('exists, or too many learners');
          if (this.#voters.some(({ isUp }) => !isUp)) throw new EtcdError('etcdserver: unhealthy cluster');
          this.#members.push({
            id: String(++this.#ids),
            name,
            isLearner: true,
            pod: undefined,
            isUp: false,
            written: 0,
          });
        }),
      promote: (id, signal) =>
        change(signal, () => {
          const member = find(id);
          if (!member.isUp || member.written < this.#acknowledged) return false;
          member.isLearner = false;
          return true;
        }),
      remove: (id, signal) =>
        change(signal, () => {
          const gone = find(id);
          this.#members = this.#members.filter((one) => one !== gone);
          if (!this.hasMajority) this.wrong.push(`without ${gone.name} there is no majority`);
        }),
      moveLeader: (to, signal) => change(signal, () => void (this.#leader = find(to).isUp ? to : this.#leader)),
    };
  };
}

/** Runs the containers of the pods, and says when they are ready. */
class ModelKubelet {
  readonly #etcd: ModelEtcd;
  readonly #client: ObjectClient;
  readonly #pods = new Map<string, Pod>();
  #cluster: EtcdCluster | undefined;

  constructor(etcd: ModelEtcd, client: ObjectClient) {
    [this.#etcd, this.#client] = [etcd, client];
  }

  /** Until `isDone` of the cluster and its pods. */
  async run(
    isDone: (cluster: EtcdCluster, pods: readonly Pod[]) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<void> {
    using stop = disposable(signal);
    const wake = { now: (): void => undefined };
    this.#etcd.onChange = () => wake.now();
    const follow = async (): Promise<void> => {
      for await (const events of this.#client.watch(
        PODS,
        { namespace: KEY.namespace, sendInitialEvents: true },
        stop.signal,
      )) {
        for (const event of events) if (event.type !== 'BOOKMARK') this.#take(event.type === 'DELETED', event.object);
        wake.now();
      }
    };
    const followCluster = async (): Promise<void> => {
      for await (const events of this.#client.watch(
        ETCD_CLUSTERS,
        { namespace: KEY.namespace, sendInitialEvents: true },
        stop.signal,
      )) {
        for (const event of events)
          if (event.type === 'ADDED' || event.type === 'MODIFIED') this.#cluster = event.object;
        wake.now();
      }
    };
    const ended = Promise.allSettled([follow(), followCluster()]);
    for (;;) {
      const woken = new Promise<void>((resolve) => (wake.now = resolve));
      this.#etcd.write();
      for (const pod of this.#pods.values()) await this.#report(pod, signal);
      if (this.#cluster !== undefined && (await isDone(this.#cluster, [...this.#pods.values()]))) break;
      await woken;
    }
    stop.abort();
    await ended;
  }

  #take(isGone: boolean, pod: Pod): void {
    const { name = '', uid = '' } = pod.metadata;
    if (isGone) {
      this.#etcd.stop(uid, true);
      if (this.#pods.get(name)?.metadata.uid === uid) this.#pods.delete(name);
    } else this.#pods.set(name, pod);
  }

  async #report({ metadata, spec, status }: Pod, signal: AbortSignal): Promise<void> {
    const { name = '', uid = '' } = metadata;
    const { image = '', command = [] } = spec?.containers[0] ?? {};
    const containerID = `etcd://${image}`;
    const [running] = status?.containerStatuses ?? [];
    const flag = (of: string) => command.find((one) => one.startsWith(`--${of}=`))?.slice(of.length + 3) ?? '';
    // A container of another image is stopped first. Its pod looks ready until this is reported.
    if (running !== undefined && running.containerID !== containerID) this.#etcd.stop(uid, false);
    else
      this.#etcd.start(
        uid,
        name,
        flag('initial-cluster-state'),
        flag('initial-cluster')
          .split(',')
          .map((one) => one.split('=')[0] ?? ''),
      );
    const isReady = running?.containerID === containerID && this.#etcd.votes(uid) ? 'True' : 'False';
    const before = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
    if (before === isReady && running?.containerID === containerID) return;
    const ready = { type: 'Ready', status: isReady };
    const of = { name: CONTAINER, image, imageID: '', containerID, ready: isReady === 'True', restartCount: 0 };
    const merge = { metadata: { uid }, status: { phase: 'Running', conditions: [ready], containerStatuses: [of] } };
    try {
      const key = { ...KEY, name };
      const reported = await this.#client.patch(PODS, key, { merge, subresource: 'status' }, signal);
      if (this.#pods.get(name)?.metadata.uid === uid) this.#pods.set(name, reported);
    } catch {
      // It has been deleted or replaced: a later event says so.
      signal.throwIfAborted();
    }
  }
}

function disposable(signal: AbortSignal) {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  signal.addEventListener('abort', abort);
  return {
    signal: controller.signal,
    abort,
    [Symbol.dispose]: () => {
      signal.removeEventListener('abort', abort);
      abort();
    },
  };
}

/** A cluster of three that loses a member, is upgraded, grows to five and shrinks to one, while a client writes. */
const life =
  (etcd: ModelEtcd): Step =>
  async (client, signal) => {
    const change = (spec: object) => client.patch(ETCD_CLUSTERS, KEY, { merge: { spec } }, signal);
    const kill = (name: string) => client.delete(PODS, { ...KEY, name }, { gracePeriodSeconds: 0 }, signal);
    const phases: { readonly size: number; readonly image: string; readonly next: () => Promise<unknown> }[] = [
      { size: 3, image: 'etcd:1', next: () => kill('db-1') },
      { size: 3, image: 'etcd:1', next: () => change({ image: 'etcd:2' }) },
      { size: 3, image: 'etcd:2', next: () => change({ size: 5 }) },
      { size: 5, image: 'etcd:2', next: () => change({ size: 1 }) },
      { size: 1, image: 'etcd:2', next: async () => etcd.endFaults() },
    ];
    await new ModelKubelet(etcd, client).run(async ({ status }, pods) => {
      const [phase] = phases;
      const isSteady = status?.conditions?.some(
        (condition: { reason: string; message: string }) =>
          condition.reason === 'AsDesired' &&
          condition.message === `${phase?.size} ${phase?.size === 1 ? 'member' : 'members'} of ${phase?.image}`,
      );
      const ready = pods.filter((one) => one.status?.conditions?.[0]?.status === 'True');
      if (phase === undefined || isSteady !== true || ready.length !== phase.size || pods.length !== phase.size)
        return false;
      phases.shift();
      await phase.next();
      return phases.length === 0;
    }, signal);
  };

test('no step of a cluster’s life loses an acknowledged write or the majority, whatever crashes', async () => {
  const etcd = new ModelEtcd();
  const seen = new WeakSet<object>();
  let histories = 0;
  let last: ObjectsReader | undefined;
  const report = await simulate({
    operator: () => ({ name: 'etcd-operator', controllers: [etcdController(etcd.admin), etcdServices] }),
    kinds: [ETCD_CLUSTERS],
    objects: [
      // That of the pods.
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'default' } },
      {
        apiVersion: 'etcd.example.com/v1',
        kind: 'EtcdCluster',
        metadata: { ...KEY },
        spec: { size: 3, image: 'etcd:1', replaceAfter: 3600 },
      },
    ],
    steps: [life(etcd)],
    invariant: (objects) => {
      if (!seen.has(objects)) {
        seen.add(objects);
        // The first history has no faults.
        etcd.begin(histories === 0 ? 0 : 0.05);
        histories += 1;
      }
      last = objects;
      if (etcd.isThere && !etcd.hasMajority) return 'there is no majority';
      return etcd.wrong[0];
    },
    seeds: 40,
  });
  expect(report.text).toBe('');
  expect(last?.all(PODS).map(({ metadata }) => metadata.name)).toEqual(['db-0']);
  const [cluster] = last?.all(ETCD_CLUSTERS) ?? [];
  expect(cluster?.status).toMatchObject({ readyMembers: 1, members: ['db-0'] });
});
