import type { Instant, Plan } from '@gantry/base';
import type { Container, LifecycleHandler } from '@gantry/objects';
import type { ContainerRole } from '../spec/pod-containers.ts';
import type { ResourceLimits } from '../runtime/pod-groups.ts';

/** `run`: containers as the spec says. `end`: the pod has ended, its containers stay for their logs. `delete`: everything goes. */
export type PodGoal = 'run' | 'end' | 'delete';

/** The next attempt of a container. */
export interface ContainerStart {
  readonly container: Container;
  readonly role: ContainerRole;
  readonly attempt: number;
  readonly restartDelayMs: number;
}

/** Creates and starts the next attempt of a container. */
export interface StartContainer extends ContainerStart {
  readonly kind: 'startContainer';
  readonly sandboxId: string;
  /** What `createSandbox` has created of it already: it is only started. */
  readonly preparedId?: string;
}

/** Starts the next sandbox. What else a new pod needs is done meanwhile. */
export interface CreateSandbox {
  readonly kind: 'createSandbox';
  readonly attempt: number;
  readonly volumes: 'mounted' | 'to-mount';
  /** The containers that come first in it, to be created while the engine starts it. */
  readonly first: readonly ContainerStart[];
}

/** Stops a container: its preStop hook runs, then it gets its stop signal. Both share the grace period. */
export interface StopContainer {
  readonly kind: 'stopContainer';
  readonly id: string;
  readonly name: string;
  readonly graceSeconds: number;
  readonly preStop?: LifecycleHandler;
  /** When the stop signal is sent: a sidecar's waits for `signalContainer`, since others that run depend on it. */
  readonly signalled: 'after-hook' | 'in-its-turn';
  /** Reason and message of the Event that reports it. */
  readonly reason: 'Killing' | 'SandboxChanged';
  readonly message: string;
  /** `started-again`: whatever its exit code and its policy are. */
  readonly afterwards?: 'started-again';
}

/** Sends the stop signal to a container whose turn has come. */
export interface SignalContainer {
  readonly kind: 'signalContainer';
  readonly id: string;
  readonly graceSeconds: number;
}

/** Lets a paused container, or the sandbox, go on. */
export interface Unpause {
  readonly kind: 'unpause';
  readonly id: string;
  /** Absent: the sandbox. */
  readonly name?: string;
}

/** Gives a running container other resources. */
export interface UpdateContainer {
  readonly kind: 'updateContainer';
  readonly id: string;
  readonly name: string;
  readonly resources: ResourceLimits;
}

/** Holds the pod to other pod-level resources. */
export interface UpdatePodGroup {
  readonly kind: 'updatePodGroup';
  readonly resources: ResourceLimits;
}

/** One action of a plan. */
export type PodAction =
  | { readonly kind: 'mountVolumes' }
  | CreateSandbox
  | StartContainer
  | StopContainer
  | SignalContainer
  | UpdateContainer
  | UpdatePodGroup
  | Unpause
  | { readonly kind: 'stopSandbox'; readonly id: string }
  | { readonly kind: 'removeContainer'; readonly id: string }
  | { readonly kind: 'removeSandbox'; readonly id: string }
  /** Nothing of the pod is left in the engine: its folders and its object may go. */
  | { readonly kind: 'release' };

/** Why a container is not running, as its status shows it. */
export interface Waiting {
  readonly reason: string;
  readonly message?: string;
}

/** What to do now for a pod, and what its status shows of it. */
export interface PodPlan extends Plan<PodAction> {
  readonly goal: PodGoal;
  /** By container name. */
  readonly waiting: ReadonlyMap<string, Waiting>;
}

/** A plan while it is made. */
export class PlanDraft {
  readonly actions: PodAction[] = [];
  readonly waiting = new Map<string, Waiting>();
  #requeueAt: Instant | undefined;

  /** Plans again at `at` at the latest. */
  requeue(at: Instant): void {
    this.#requeueAt = this.#requeueAt === undefined ? at : Math.min(this.#requeueAt, at);
  }

  finish(goal: PodGoal): PodPlan {
    const { actions, waiting } = this;
    return { goal, actions, waiting, requeueAt: this.#requeueAt };
  }
}
