import type { Instant, Plan } from '@gantry/base';
import type { Container, LifecycleHandler } from '@gantry/objects';
import type { ContainerRole } from '../spec/pod-containers.ts';
import type { ResourceLimits } from '../runtime/pod-groups.ts';

/** `run`: containers match the spec. `end`: the pod has ended; its containers stay for their logs. `delete`: everything is removed. */
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
  /** The id of a container that `createSandbox` has created already; it only has to be started. */
  readonly preparedId?: string;
}

/** Creates the next sandbox. For a new pod, the other preparations run in parallel. */
export interface CreateSandbox {
  readonly kind: 'createSandbox';
  readonly attempt: number;
  readonly volumes: 'mounted' | 'to-mount';
  /** The first containers of the sandbox. They are created while the engine starts the sandbox. */
  readonly first: readonly ContainerStart[];
}

/** Stops a container: its preStop hook runs, then it gets its stop signal. Both share the grace period. */
export interface StopContainer {
  readonly kind: 'stopContainer';
  readonly id: string;
  readonly name: string;
  readonly graceSeconds: number;
  readonly preStop?: LifecycleHandler;
  /**
   * When the stop signal is sent. A sidecar's signal waits for `signalContainer` while other running containers depend on the sidecar.
   */
  readonly signalled: 'after-hook' | 'in-its-turn';
  /** Reason and message of the Event that reports it. */
  readonly reason: 'Killing' | 'SandboxChanged';
  readonly message: string;
  /** `started-again`: the container starts again, whatever its exit code and restart policy are. */
  readonly afterwards?: 'started-again';
}

/** Sends the stop signal to a container that has waited for its turn. */
export interface SignalContainer {
  readonly kind: 'signalContainer';
  readonly id: string;
  readonly graceSeconds: number;
}

/** Resumes a paused container or sandbox. */
export interface Unpause {
  readonly kind: 'unpause';
  readonly id: string;
  /** Absent: the sandbox. */
  readonly name?: string;
}

/** Changes the resources of a running container. */
export interface UpdateContainer {
  readonly kind: 'updateContainer';
  readonly id: string;
  readonly name: string;
  readonly resources: ResourceLimits;
}

/** Changes the pod-level resources. */
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
  /** Nothing of the pod is left in the engine: its folders and its object may be removed. */
  | { readonly kind: 'release' };

/** Why a container is not running, as its status shows it. */
export interface Waiting {
  readonly reason: string;
  readonly message?: string;
}

/** The actions for a pod, and the waiting reasons in its status. */
export interface PodPlan extends Plan<PodAction> {
  readonly goal: PodGoal;
  /** Waiting reasons by container name. */
  readonly waiting: ReadonlyMap<string, Waiting>;
}

/** Collects a plan. */
export class PlanDraft {
  readonly actions: PodAction[] = [];
  readonly waiting = new Map<string, Waiting>();
  #requeueAt: Instant | undefined;

  /** Plans again at `at`, or earlier. */
  requeue(at: Instant): void {
    this.#requeueAt = this.#requeueAt === undefined ? at : Math.min(this.#requeueAt, at);
  }

  finish(goal: PodGoal): PodPlan {
    const { actions, waiting } = this;
    return { goal, actions, waiting, requeueAt: this.#requeueAt };
  }
}
