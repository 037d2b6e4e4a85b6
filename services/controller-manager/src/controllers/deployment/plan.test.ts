import { formatTime, seededRandom } from '@gantry/base';
import { cloneJson, controllerReference, type Deployment, type Pod, type ReplicaSet } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Action as SetAction, planReplicaSet } from '../replica-set/plan.ts';
import { planDeployment } from './plan.ts';
import { desiredReplicas, rollingBounds } from './replica-sets.ts';

const START = Date.parse('2026-01-01T00:00:00Z');

function deployment(spec: Partial<NonNullable<Deployment['spec']>> = {}): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'site', namespace: 'n', uid: 'd-1', generation: 1, creationTimestamp: formatTime(START) },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'a' } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 10,
      template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'app:1' }] } },
      ...spec,
    },
  };
}

/** A cluster with one Deployment, in memory. Plans are carried out, and pods become ready when told to. */
class World {
  now = START;
  uids = 0;
  sets: ReplicaSet[] = [];
  pods: Pod[] = [];
  events: string[] = [];
  deployment: Deployment;

  constructor(of: Deployment) {
    this.deployment = of;
  }

  /** Runs one reconcile of the deployment controller. Returns whether it did something. */
  stepDeployment(): boolean {
    const { actions } = planDeployment(
      { deployment: this.deployment, replicaSets: this.sets, pods: this.pods },
      this.now,
    );
    for (const action of actions) {
      switch (action.kind) {
        case 'adopt':
          action.set.metadata.ownerReferences = [controllerReference(this.deployment)];
          break;
        case 'release':
          action.set.metadata.ownerReferences = [];
          break;
        case 'createSet': {
          const set = cloneJson(action.set);
          set.metadata = {
            ...set.metadata,
            uid: `rs-${++this.uids}`,
            generation: 1,
            creationTimestamp: formatTime(this.now + this.uids * 1000),
          };
          this.sets = [...this.sets, set];
          break;
        }
        case 'annotateSet':
          this.change(action.set, (set) => {
            set.metadata.annotations = { ...action.annotations };
            if (set.spec) set.spec.minReadySeconds = action.minReadySeconds;
          });
          break;
        case 'resizeSet':
          this.events.push(
            `${action.set.metadata.name ?? ''} ${String(action.set.spec?.replicas)}->${String(action.replicas)}`,
          );
          this.change(action.set, (set) => {
            if (set.spec) set.spec.replicas = action.replicas;
            const bounds = rollingBounds(this.deployment);
            set.metadata.annotations = {
              ...set.metadata.annotations,
              'deployment.kubernetes.io/desired-replicas': String(desiredReplicas(this.deployment)),
              'deployment.kubernetes.io/max-replicas': String(desiredReplicas(this.deployment) + bounds.maxSurge),
            };
            set.metadata.generation = (set.metadata.generation ?? 0) + 1;
          });
          break;
        case 'deleteSet':
          this.sets = this.sets.filter((set) => set.metadata.uid !== action.set.metadata.uid);
          break;
        case 'rollBack':
          this.deployment = cloneJson(action.rollback.deployment);
          break;
        case 'reportSelectingAll':
          break;
        case 'updateStatus':
          this.deployment = cloneJson(this.deployment);
          this.deployment.status = cloneJson(action.status);
          if (action.revision !== undefined) {
            this.deployment.metadata.annotations = {
              ...this.deployment.metadata.annotations,
              'deployment.kubernetes.io/revision': action.revision,
            };
          }
          break;
      }
    }
    return actions.length > 0;
  }

  change(old: ReplicaSet, edit: (set: ReplicaSet) => void): void {
    this.sets = this.sets.map((set) => {
      if (set.metadata.uid !== old.metadata.uid) return set;
      const copy = cloneJson(set);
      edit(copy);
      return copy;
    });
  }

  /** Runs one reconcile of the replica set controller for each set. Returns whether it did something. */
  stepSets(): boolean {
    let busy = false;
    for (const set of this.sets) {
      const { actions } = planReplicaSet(
        { set, pods: this.pods, relatedPods: this.pods, failure: undefined },
        this.now,
      );
      busy ||= actions.length > 0;
      for (const action of actions) this.applySetAction(set, action);
    }
    return busy;
  }

  applySetAction(set: ReplicaSet, action: SetAction): void {
    if (action.kind === 'createPods') {
      for (let i = 0; i < action.count; i++) {
        const labels = set.spec?.template?.metadata?.labels;
        this.pods.push({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: {
            name: `p-${++this.uids}`,
            uid: `p-${this.uids}`,
            namespace: 'n',
            ...(labels ? { labels } : {}),
            ownerReferences: [controllerReference(set)],
            creationTimestamp: formatTime(this.now),
          },
          spec: { containers: [], nodeName: 'node' },
          status: { phase: 'Pending' },
        });
      }
    } else if (action.kind === 'deletePod') {
      this.pods = this.pods.filter((pod) => pod.metadata.uid !== action.pod.metadata.uid);
    } else if (action.kind === 'updateStatus') {
      this.change(set, (copy) => {
        copy.status = cloneJson(action.status);
      });
    }
  }

  makeReady(pod: Pod): void {
    const at = formatTime(this.now);
    this.pods = this.pods.map((other) =>
      other === pod
        ? {
            ...pod,
            status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at }] },
          }
        : other,
    );
  }

  unready(): Pod[] {
    return this.pods.filter((pod) => pod.status?.phase !== 'Running');
  }

  /** Continues until all pods are ready and nothing is left to do. */
  settle(): void {
    for (let i = 0; i < 300; i++) {
      const acted = [this.stepDeployment(), this.stepSets()].includes(true);
      const waiting = this.unready();
      for (const pod of waiting) this.makeReady(pod);
      if (!acted && waiting.length === 0) return;
    }
    throw new Error(
      `does not settle: ${JSON.stringify(planDeployment({ deployment: this.deployment, replicaSets: this.sets, pods: this.pods }, this.now).actions)}`,
    );
  }

  edit(change: (spec: NonNullable<Deployment['spec']>) => void): void {
    this.deployment = cloneJson(this.deployment);
    if (this.deployment.spec) change(this.deployment.spec);
    this.deployment.metadata.generation = (this.deployment.metadata.generation ?? 0) + 1;
  }

  setImage(image: string): void {
    this.edit((spec) => {
      const container = spec.template.spec?.containers[0];
      if (container) container.image = image;
    });
  }
}

describe('planDeployment', () => {
  test('a new Deployment gets one set of its size and ends complete', () => {
    const world = new World(deployment());
    world.settle();
    expect(world.sets.map((set) => set.spec?.replicas)).toEqual([3]);
    expect(world.sets[0]?.metadata.annotations).toEqual({
      'deployment.kubernetes.io/revision': '1',
      'deployment.kubernetes.io/desired-replicas': '3',
      'deployment.kubernetes.io/max-replicas': '4',
    });
    expect(world.deployment.status).toMatchObject({
      replicas: 3,
      updatedReplicas: 3,
      availableReplicas: 3,
      observedGeneration: 1,
      terminatingReplicas: 0,
    });
    expect(world.deployment.status?.conditions?.map((c) => [c.type, c.status, c.reason])).toEqual([
      ['Available', 'True', 'MinimumReplicasAvailable'],
      ['Progressing', 'True', 'NewReplicaSetAvailable'],
    ]);
  });

  test('rolling back raises the old revision and keeps it in the history', () => {
    const world = new World(deployment({ replicas: 2 }));
    world.settle();
    world.setImage('app:2');
    world.settle();
    world.setImage('app:1');
    world.settle();
    const [first, second] = world.sets;
    expect(first?.metadata.annotations).toMatchObject({
      'deployment.kubernetes.io/revision': '3',
      'deployment.kubernetes.io/revision-history': '1',
    });
    expect(second?.metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('2');
    expect(world.sets.map((set) => set.spec?.replicas)).toEqual([2, 0]);
    expect(world.deployment.metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('3');
  });

  test('a stuck rollout that is scaled grows in proportion', () => {
    const world = new World(deployment({ replicas: 4 }));
    world.settle();
    for (const pod of world.pods) pod.status = { phase: 'Pending' };
    world.stepSets();
    world.setImage('app:2');
    for (let i = 0; i < 10; i++) {
      world.stepDeployment();
      world.stepSets();
    }
    expect(world.sets.map((set) => set.spec?.replicas)).toEqual([3, 2]);
    world.edit((spec) => {
      spec.replicas = 8;
    });
    for (let i = 0; i < 10; i++) {
      world.stepDeployment();
      world.stepSets();
    }
    expect(world.sets.map((set) => set.spec?.replicas)).toEqual([6, 4]);
  });

  test('recreating ends every old pod before the first new one', () => {
    const world = new World(deployment({ strategy: { type: 'Recreate' } }));
    world.settle();
    world.setImage('app:2');
    for (let i = 0; i < 50; i++) {
      world.stepDeployment();
      world.stepSets();
      const owners = new Set(world.pods.map((pod) => pod.metadata.ownerReferences?.[0]?.uid));
      expect(owners.size).toBeLessThanOrEqual(1);
      for (const pod of world.unready()) world.makeReady(pod);
    }
    expect(world.sets.map((set) => set.spec?.replicas)).toEqual([0, 3]);
    expect(world.sets[1]?.metadata.annotations?.['deployment.kubernetes.io/max-replicas']).toBe('3');
  });

  test('a paused Deployment is scaled but not rolled out', () => {
    const world = new World(deployment({ replicas: 2 }));
    world.settle();
    world.edit((spec) => {
      spec.paused = true;
      spec.replicas = 4;
    });
    world.setImage('app:2');
    world.settle();
    expect(world.sets.map((set) => set.spec?.replicas)).toEqual([4]);
    expect(world.deployment.status?.conditions?.find((c) => c.type === 'Progressing')?.reason).toBe('DeploymentPaused');
    world.edit((spec) => {
      spec.paused = false;
    });
    world.settle();
    expect(world.sets.map((set) => set.spec?.replicas)).toEqual([0, 4]);
  });

  test('a rollout that stands still past its deadline says so', () => {
    const world = new World(deployment({ progressDeadlineSeconds: 2 }));
    for (let i = 0; i < 5; i++) {
      world.stepDeployment();
      world.stepSets();
    }
    const wake = planDeployment(
      { deployment: world.deployment, replicaSets: world.sets, pods: world.pods },
      world.now,
    ).requeueAt;
    expect(wake).toBe(START + 2000 + 1000);
    world.now = START + 3000;
    world.stepDeployment();
    expect(world.deployment.status?.conditions?.find((c) => c.type === 'Progressing')).toMatchObject({
      status: 'False',
      reason: 'ProgressDeadlineExceeded',
    });
  });

  test('empty sets beyond the history limit go, oldest revision first', () => {
    const world = new World(deployment({ replicas: 1, revisionHistoryLimit: 1 }));
    for (const image of ['app:1', 'app:2', 'app:3', 'app:4']) {
      world.setImage(image);
      world.settle();
    }
    expect(world.sets.map((set) => set.spec?.template?.spec?.containers[0]?.image)).toEqual(['app:3', 'app:4']);
  });

  test('never more than the surge, never fewer available than allowed, in any order of events', () => {
    const scenario = fc.record({
      replicas: fc.integer({ min: 1, max: 12 }),
      maxSurge: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom('25%', '50%', '100%')),
      maxUnavailable: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom('0%', '25%', '50%')),
      seed: fc.integer(),
    });
    fc.assert(
      fc.property(scenario, ({ replicas, maxSurge, maxUnavailable, seed }) => {
        const random = seededRandom(seed);
        const world = new World(
          deployment({ replicas, strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } } }),
        );
        world.settle();
        const bounds = rollingBounds(world.deployment);
        world.setImage('app:2');
        for (let i = 0; i < 120; i++) {
          const dice = random();
          if (dice < 0.4) world.stepDeployment();
          else if (dice < 0.8) world.stepSets();
          else for (const pod of world.unready().slice(0, 1)) world.makeReady(pod);
          const available = world.pods.length - world.unready().length;
          expect(world.pods.length).toBeLessThanOrEqual(replicas + bounds.maxSurge);
          expect(available).toBeGreaterThanOrEqual(replicas - bounds.maxUnavailable);
        }
        world.settle();
        expect(world.pods.length).toBe(replicas);
        expect(world.stepDeployment()).toBe(false);
      }),
      { seed: 20260101, numRuns: 60 },
    );
  });

  test('every history of edits, steps and stale statuses ends with the wanted pods of the last template', () => {
    const edits = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant('scale' as const), replicas: fc.integer({ min: 0, max: 9 }) }),
        fc.record({ kind: fc.constant('image' as const), image: fc.constantFrom('app:1', 'app:2', 'app:3') }),
        fc.record({ kind: fc.constant('pause' as const), paused: fc.boolean() }),
        fc.record({ kind: fc.constant('strategy' as const), type: fc.constantFrom('Recreate', 'RollingUpdate') }),
        fc.record({
          kind: fc.constantFrom('deployment' as const, 'sets' as const, 'ready' as const, 'stale' as const),
        }),
        fc.record({ kind: fc.constantFrom('deployment' as const, 'sets' as const, 'ready' as const) }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(edits, (history) => {
        const world = new World(deployment({ revisionHistoryLimit: 2 }));
        let earlier = world.sets;
        for (const step of history) {
          if (step.kind === 'scale') world.edit((spec) => void (spec.replicas = step.replicas));
          else if (step.kind === 'image') world.setImage(step.image);
          else if (step.kind === 'pause') world.edit((spec) => void (spec.paused = step.paused));
          else if (step.kind === 'strategy') world.edit((spec) => void (spec.strategy = { type: step.type }));
          else if (step.kind === 'deployment') world.stepDeployment();
          else if (step.kind === 'sets') world.stepSets();
          else if (step.kind === 'ready') for (const pod of world.unready().slice(0, 2)) world.makeReady(pod);
          else {
            // The controller sees old statuses of the sets.
            const old = new Map(earlier.map((set) => [set.metadata.uid, set.status]));
            world.sets = world.sets.map((set) => {
              const status = old.get(set.metadata.uid);
              return status === undefined ? set : { ...set, status };
            });
          }
          earlier = world.sets;
        }
        world.edit((spec) => void (spec.paused = false));
        world.settle();
        const wanted = world.deployment.spec;
        expect(world.pods).toHaveLength(wanted?.replicas ?? 1);
        const active = world.sets.filter((set) => (set.spec?.replicas ?? 0) > 0);
        const image = wanted?.template.spec?.containers[0]?.image;
        for (const set of active) expect(set.spec?.template?.spec?.containers[0]?.image).toBe(image);
        expect(active.length).toBeLessThanOrEqual(1);
        expect(world.stepDeployment()).toBe(false);
        expect(world.deployment.status?.replicas ?? 0).toBe(wanted?.replicas ?? 1);
        expect(world.sets.length).toBeLessThanOrEqual(3);
      }),
      { seed: 20260101, numRuns: 150 },
    );
  });
});
