import { type InProcessServer, startInProcessServer, type StoredChange } from '@gantry/apiserver/testing';
import { ignoreNotFound, type ObjectClient } from '@gantry/client';
import { createFenceHolder, Informers } from '@gantry/controller-runtime';
import {
  Activity,
  createDice,
  createDisturbedClient,
  type Dice,
  type Faults,
  silentLog,
} from '@gantry/controller-runtime/testing';
import { findUntoleratedTaint, hasEnded, type Node, NODES, type Pod, PODS, SERVICE_ACCOUNTS } from '@gantry/objects';
import { pause } from '@gantry/base';
import { ClusterView, SCHEDULED_RESOURCES } from '../cluster-view.ts';
import { SchedulingQueue } from '../queue.ts';
import { createSchedulingLeader } from '../scheduling-leader.ts';
import { exampleNode, examplePod } from './examples.ts';

/**
 * The scheduler with the API server's write pipeline, a model of etcd and a manual clock, under Sieve's perturbations: it crashes between any
 * two writes, acts on a view that is late, and never sees some states. Users create and end pods, and cordon, taint and remove nodes.
 */
export async function simulateScheduler(seed: number): Promise<Simulated> {
  const simulation = new Simulation(seed, await startInProcessServer(seed));
  try {
    return await simulation.run();
  } finally {
    await simulation.stop();
  }
}

export interface Simulated {
  /** What the scheduler did wrong. */
  readonly violations: readonly string[];
  readonly bound: number;
  readonly crashes: number;
}

const ELECTION_KEY = '/gantry/elections/kube-scheduler';
const USER = { name: 'system:kube-scheduler', uid: '', groups: ['gantry:services', 'system:authenticated'], extra: {} };
const STEPS = 60;
const LATE_MS = 5_000;
/** Longer than the longest wait of a refused pod for its next attempt. */
const QUIET_MS = 400_000;
/** A view that is late, and the time until a decision on it is written, which may be repeated. */
const STALE_MS = LATE_MS + 10_000;
const ZONES = ['a', 'b'];
const TAINT = { key: 'dedicated', value: 'x', effect: 'NoSchedule' } as const;

class Simulation {
  readonly #server: InProcessServer;
  readonly #activity: Activity;
  readonly #client: ObjectClient;
  readonly #judge: Judge;
  readonly #stop = new AbortController();
  readonly #seed: number;
  #process: AbortController | undefined;
  #faults: Faults | undefined;
  #writesLeft = Number.POSITIVE_INFINITY;
  #elections = 0;
  #crashes = 0;
  #pods = 0;

  constructor(seed: number, server: InProcessServer) {
    this.#seed = seed;
    this.#server = server;
    this.#activity = new Activity(server.clock, () => server.etcd.revision);
    this.#client = server.client({ fieldManager: 'kubectl' });
    this.#judge = new Judge(() => server.clock.now());
  }

  async run(): Promise<Simulated> {
    const { clock } = this.#server;
    void this.#follow();
    const dice = createDice(this.#seed, 'users');
    await this.#activity.until(this.#begin(dice));
    this.#beginFaults();
    await this.#activity.until(this.#use(dice));
    this.#faults = undefined;
    this.#writesLeft = Number.POSITIVE_INFINITY;
    await this.#untilQuiet();
    this.#judge.judgeEnd();
    const { changes } = this.#judge;
    this.#process?.abort();
    await this.#activity.until(this.#elect());
    await this.#untilQuiet();
    const written = this.#judge.changes - changes;
    if (written > 0) this.#judge.violations.push(`I15: a new leader at rest wrote ${written} times, at ${clock.now()}`);
    return { violations: this.#judge.violations, bound: this.#judge.bound, crashes: this.#crashes };
  }

  async stop(): Promise<void> {
    this.#process?.abort();
    this.#stop.abort();
    await this.#server.stop();
  }

  async #follow(): Promise<void> {
    for await (const changes of this.#server.changes(1, this.#stop.signal)) {
      for (const change of changes) this.#judge.take(change);
    }
  }

  async #begin(dice: Dice): Promise<void> {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'default' } };
    await this.#client.create(SERVICE_ACCOUNTS, account, this.#stop.signal);
    for (const name of ['n1', 'n2', 'n3', 'n4']) await this.#createNode(dice, name);
    await this.#elect();
  }

  async #createNode(dice: Dice, name: string): Promise<void> {
    const labels = { zone: dice.pick(ZONES) };
    const node = exampleNode(name, { cpu: dice.pick(['2', '3']), pods: '5', labels });
    await this.#client.create(NODES, node, this.#stop.signal);
    // Admission marks a new Node as one that is not ready.
    await this.#patchNode(name, { spec: { taints: [] } });
  }

  async #patchNode(name: string, merge: object): Promise<void> {
    await ignoreNotFound(this.#client.patch(NODES, { namespace: '', name }, { merge }, this.#stop.signal));
  }

  async #use(dice: Dice): Promise<void> {
    const { clock } = this.#server;
    for (let step = 0; step < STEPS; step++) {
      await this.#act(dice);
      await pause(clock, dice.between(1, 1_500), this.#stop.signal);
    }
    // So that pods of the end can be placed at all.
    for (const name of this.#judge.nodeNames()) await this.#patchNode(name, { spec: { unschedulable: null } });
  }

  async #act(dice: Dice): Promise<void> {
    const signal = this.#stop.signal;
    const what = dice.between(1, 10);
    if (what <= 4) {
      for (let count = dice.between(1, 3); count > 0; count--) await this.#createPod(dice);
      return;
    }
    const [pods, nodes] = [this.#judge.podKeys(), this.#judge.nodeNames()];
    if (what <= 7 && pods.length > 0) {
      const key = dice.pick(pods);
      if (dice.chance(0.5)) await ignoreNotFound(this.#client.delete(PODS, key, { gracePeriodSeconds: 0 }, signal));
      else {
        const patch = { merge: { status: { phase: 'Succeeded' } }, subresource: 'status' };
        await ignoreNotFound(this.#client.patch(PODS, key, patch, signal));
      }
    } else if (nodes.length > 0 && what <= 9) {
      const merge = dice.chance(0.5)
        ? { spec: { unschedulable: dice.chance(0.5) ? true : null } }
        : { spec: { taints: dice.chance(0.5) ? [TAINT] : [] } };
      await this.#patchNode(dice.pick(nodes), merge);
    } else if (nodes.length > 2 && dice.chance(0.3)) {
      await ignoreNotFound(this.#client.delete(NODES, { namespace: '', name: dice.pick(nodes) }, {}, signal));
    } else await this.#createNode(dice, `more-${++this.#pods}`);
  }

  async #createPod(dice: Dice): Promise<void> {
    const cpu = dice.pick(['0', '1', '1', '2']);
    const nodeSelector = dice.chance(0.3) ? { nodeSelector: { zone: dice.pick(ZONES) } } : {};
    const tolerations = dice.chance(0.3) ? { tolerations: [{ key: TAINT.key, operator: 'Exists' as const }] } : {};
    const pod = examplePod(`p${++this.#pods}`, { cpu, spec: { ...nodeSelector, ...tolerations } });
    const { uid: _, ...metadata } = pod.metadata;
    await this.#client.create(PODS, { ...pod, metadata }, this.#stop.signal);
  }

  #beginFaults(): void {
    const dice = createDice(this.#seed, 'faults');
    const some = (most: number): number => (dice.chance(0.3) ? 0 : most * dice.random());
    this.#faults = {
      requestFails: some(0.15),
      answerLost: some(0.15),
      watchBreaks: some(0.1),
      historyLost: some(0.05),
      viewLate: some(0.5),
      repeated: some(0.1),
      lateMs: dice.pick([50, 500, LATE_MS]),
    };
    this.#crashSoon();
  }

  #crashSoon(): void {
    this.#writesLeft = createDice(this.#seed, `crash ${this.#elections}`).between(1, 15);
  }

  /** Crashes when the number of writes is used up: just before the last one is sent, or after it was committed. */
  #countWrite(moment: 'before' | 'after'): void {
    if (moment === 'before') this.#writesLeft -= 1;
    if (this.#writesLeft > 0) return;
    const dice = createDice(this.#seed, `crash ${this.#elections} ${moment}`);
    if (moment === 'before' && dice.chance(0.5)) return;
    this.#writesLeft = Number.POSITIVE_INFINITY;
    this.#crashes += 1;
    this.#process?.abort(new Error('the process has crashed'));
    this.#server.clock.setTimer(dice.between(10, 4_000), () => {
      if (this.#stop.signal.aborted) return;
      void this.#elect();
      if (this.#faults !== undefined) this.#crashSoon();
    });
  }

  /** Starts and elects a new process with an empty cache. From now on the fence refuses writes of earlier ones. */
  async #elect(): Promise<void> {
    const { clock, etcd, incarnation } = this.#server;
    this.#process?.abort(new Error('the process has been replaced'));
    const process = new AbortController();
    this.#process = process;
    const dice = createDice(this.#seed, `scheduler ${++this.#elections}`);
    await etcd.transact({ compare: [], success: [{ kind: 'delete', key: ELECTION_KEY }], failure: [] }, this.#stop);
    const put = { kind: 'put', key: ELECTION_KEY, value: Buffer.from(String(this.#elections)) } as const;
    const { revision: epoch } = await etcd.transact({ compare: [], success: [put], failure: [] }, this.#stop);
    this.#judge.elected(epoch);
    const fences = createFenceHolder();
    const client = createDisturbedClient({
      client: this.#server.client({ user: USER, fieldManager: 'kube-scheduler', fence: () => fences.fence() }),
      clock,
      activity: this.#activity,
      dice,
      faults: () => this.#faults,
      onRequest: () => undefined,
      onWrite: (_, moment) => this.#countWrite(moment),
      crashed: process.signal,
    });
    const base = { client, clock, random: dice.random, log: silentLog };
    const informers = new Informers({ ...base, resources: SCHEDULED_RESOURCES });
    const queue = new SchedulingQueue(base);
    const view = new ClusterView(queue);
    informers.subscribe((event) => view.take(event));
    const leader = createSchedulingLeader({
      ...base,
      fences,
      informers,
      queue,
      view,
      component: 'kube-scheduler',
      identity: `scheduler-${this.#elections}`,
      onResult: () => undefined,
      onPreemption: () => undefined,
    });
    // A crash is not a failure. After one, the only rejection is its abort reason.
    const ended = (error: unknown): void => {
      if (!process.signal.aborted) this.#judge.violations.push(`the scheduler ended: ${String(error)}`);
    };
    void informers.run(process.signal).catch(ended);
    void leader.lead({ electionKey: ELECTION_KEY, epoch, incarnation }, process.signal).catch(ended);
  }

  async #untilQuiet(): Promise<void> {
    const { clock } = this.#server;
    for (const since = clock.now(); clock.now() < Math.max(since, this.#judge.changedAt) + QUIET_MS; ) {
      await this.#activity.step();
    }
  }
}

/** Follows the store, and says what is wrong by rules of its own. Quantities are whole numbers of processors. */
class Judge {
  readonly violations: string[] = [];
  bound = 0;
  /** Of pods and nodes. */
  changes = 0;
  changedAt = 0;
  readonly #now: () => number;
  readonly #pods = new Map<string, Pod>();
  /** What each node was, and until when. The last one is what it is. */
  readonly #nodes = new Map<
    string,
    { readonly node: Node | undefined; readonly revision: number; untilMs: number }[]
  >();
  #epoch = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  elected(epoch: number): void {
    this.#epoch = epoch;
  }

  podKeys() {
    return [...this.#pods.values()].map(({ metadata: { name = '', namespace = '' } }) => ({ namespace, name }));
  }

  nodeNames(): readonly string[] {
    return [...this.#nodes].flatMap(([name, versions]) => (versions.at(-1)?.node === undefined ? [] : [name]));
  }

  take({ resource, name, object, resourceVersion }: StoredChange): void {
    if (resource.resource === NODES.resource) this.#takeNode(name, object, Math.floor(resourceVersion / 256));
    else if (resource.resource === PODS.resource) this.#takePod(name, object);
    else return;
    this.changes += 1;
    this.changedAt = this.#now();
  }

  #takeNode(name: string, node: Node | undefined, revision: number): void {
    const versions = this.#nodes.get(name) ?? [];
    this.#nodes.set(name, versions);
    const last = versions.at(-1);
    if (last !== undefined) last.untilMs = this.#now();
    versions.push({ node, revision, untilMs: Number.POSITIVE_INFINITY });
  }

  #takePod(name: string, pod: Pod | undefined): void {
    const before = this.#pods.get(name);
    if (pod === undefined) {
      this.#pods.delete(name);
      return;
    }
    this.#pods.set(name, pod);
    const [was, is] = [before?.spec?.nodeName, pod.spec?.nodeName];
    if (was !== undefined && was !== is) this.violations.push(`I7: ${name} moved from ${was} to ${is}`);
    if (was !== undefined || is === undefined) return;
    this.bound += 1;
    const versions = this.#nodes.get(is) ?? [];
    const seen = versions.filter(({ untilMs }) => untilMs >= this.#now() - STALE_MS);
    if (!seen.some(({ node }) => node !== undefined && allows(node, pod)))
      this.violations.push(`I24: ${name} was bound to ${is}, which has not allowed it for ${STALE_MS} ms`);
    const since = versions.filter(
      (_, index) => (versions[index + 1]?.revision ?? Number.POSITIVE_INFINITY) > this.#epoch,
    );
    if (!since.some(({ node }) => node !== undefined && allows(node, pod)))
      this.violations.push(`I5: ${name} was bound to ${is}, which has never allowed it since the election`);
    const node = versions.findLast((version) => version.node !== undefined)?.node;
    const { cpu, pods } = this.#usedOn(is);
    const [most, mostPods] = [Number(node?.status?.allocatable?.['cpu']), Number(node?.status?.allocatable?.['pods'])];
    if (cpuOf(pod) > 0 && cpu > most)
      this.violations.push(`I22: after ${name}, ${is} has to give ${cpu} of ${most} processors`);
    if (pods > mostPods) this.violations.push(`I22: after ${name}, ${is} has ${pods} of ${mostPods} pods`);
  }

  #usedOn(node: string) {
    const there = [...this.#pods.values()].filter((pod) => pod.spec?.nodeName === node && !hasEnded(pod));
    return { cpu: there.reduce((sum, pod) => sum + cpuOf(pod), 0), pods: there.length };
  }

  /** At rest, no pod waits for a node that has room for it. */
  judgeEnd(): void {
    for (const [name, pod] of this.#pods) {
      if (pod.spec?.nodeName !== undefined || hasEnded(pod)) continue;
      const fitting = this.nodeNames().find((node) => this.#fits(node, pod));
      if (fitting !== undefined) this.violations.push(`I23: ${name} waits, though ${fitting} has room`);
    }
  }

  #fits(name: string, pod: Pod): boolean {
    const node = this.#nodes.get(name)?.at(-1)?.node;
    if (node === undefined || !allows(node, pod)) return false;
    const { cpu, pods } = this.#usedOn(name);
    const { allocatable = {} } = node.status ?? {};
    const hasCpu = cpuOf(pod) === 0 || cpu + cpuOf(pod) <= Number(allocatable['cpu']);
    return hasCpu && pods + 1 <= Number(allocatable['pods']);
  }
}

function allows(node: Node, pod: Pod): boolean {
  const { unschedulable, taints = [] } = node.spec ?? {};
  const labels = Object.entries(pod.spec?.nodeSelector ?? {});
  return (
    unschedulable !== true &&
    findUntoleratedTaint(taints, pod.spec?.tolerations, ['NoSchedule', 'NoExecute']) === undefined &&
    labels.every(([key, value]) => node.metadata.labels?.[key] === value)
  );
}

function cpuOf(pod: Pod): number {
  return Number(pod.spec?.containers[0]?.resources?.requests?.['cpu'] ?? 0);
}
