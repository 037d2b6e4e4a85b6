import type { Instant } from '@gantry/base';
import type { ProbeFindings } from '../probes/probe-counter.ts';
import type { ResizeVerdict } from '../spec/resize.ts';
import type { PodRejection } from '../spec/pod-rejection.ts';
import type { BackOffEntry } from './back-off.ts';
import { MAX_RESTART_DELAY_MS } from './restart-delay.ts';
import type { Instances } from '../runtime/labels.ts';
import type { ResourceLimits } from '../runtime/pod-groups.ts';

/** The progress of stopping a container. */
export interface Stopping {
  /** `hook`: its preStop hook runs. `turn`: it waits until its stop signal may be sent. `signal`: the stop signal was sent. */
  readonly phase: 'hook' | 'turn' | 'signal';
  /** When SIGKILL is sent. */
  readonly killAt: Instant;
}

/** An update of pod-level resources. It is not repeated before `retryAt`. */
export interface GroupUpdateAttempt {
  readonly resources: ResourceLimits;
  readonly retryAt: Instant;
  /** Why it failed. */
  readonly failure?: BackOffEntry;
}

/** An update of a container's resources. The engine may show the result late. */
export interface UpdateAttempt extends GroupUpdateAttempt {
  readonly containerId: string;
}

/** The eviction of a pod by this node. */
export interface Eviction {
  /** The message in the pod's status and its Event. */
  readonly message: string;
  /** An upper limit; the pod's own grace period may be shorter. */
  readonly graceSeconds: number;
  /** For `node-pressure` and `critical-pod` the pod is not the cause, so its condition reports a disruption. */
  readonly cause: 'own-limit' | 'node-pressure' | 'critical-pod';
}

/** The reason in the status and the Event of an evicted pod. */
export function evictionReason({ cause }: Eviction): 'Evicted' | 'Preempting' {
  return cause === 'critical-pod' ? 'Preempting' : 'Evicted';
}

/** Whether a node reaches the control plane. `cut-off`: it has not for so long that pods that run at most once must stop. */
export type Link = 'connected' | 'cut-off';

/** A worker's state besides API and engine. It may be lost: a restarted agent begins with `emptyMemory`. */
export interface PodMemory {
  /** Containers that are being stopped, by container id. */
  readonly stopping: ReadonlyMap<string, Stopping>;
  /** Ids of containers that were stopped for new resources. They are started again, whatever their exit codes are. */
  readonly resized: ReadonlySet<string>;
  /** Ids of containers whose postStart hook failed. */
  readonly failedPostStart: ReadonlySet<string>;
  /** Failed starts, by container name. */
  readonly backOffs: ReadonlyMap<string, BackOffEntry>;
  readonly volumes: 'absent' | 'ready' | BackOffEntry;
  /** Containers that were created while the sandbox started, by container name. */
  readonly prepared: ReadonlyMap<string, { readonly id: string }>;
  /** The failed creation of the sandbox. */
  readonly sandbox?: BackOffEntry;
  /** Why this node rejects the pod; set before each plan. */
  readonly rejection: PodRejection | undefined;
  /** Whether new resources of the pod take effect; set before each plan. */
  readonly resize: ResizeVerdict;
  /** The last update of each container, by container name. */
  readonly updates: ReadonlyMap<string, UpdateAttempt>;
  /** The last update of the pod's control group. */
  readonly groupUpdate?: GroupUpdateAttempt;
  /** Whether something of an earlier pod with the same name is left; a static pod waits for its removal. Set before each plan. */
  readonly predecessor: 'absent' | 'present';
  /** Whether and why this node evicts the pod; set before each plan. */
  readonly eviction: Eviction | undefined;
  /** Whether the pod must never run twice; set before each plan. */
  readonly instances: Instances;
  /** Whether the node reaches the control plane; set before each plan. */
  readonly link: Link;
  /** Whether the node needs the disk space of an ended pod's containers; set before each plan. */
  readonly remains: 'kept' | 'reclaimed';
  /** The longest delay before a restart; set before each plan. */
  readonly maxRestartDelayMs: number;
  /** Ids of containers that a restart of all containers removes or has removed; set before each plan. */
  readonly restartedIds: ReadonlySet<string>;
  /**
   * The restart delay after a container's next attempt, kept over a restart of all containers, by container name; set before each plan.
   */
  readonly restartDelays: ReadonlyMap<string, number>;
  /** Probe findings, by container name. */
  readonly probes: ReadonlyMap<string, ProbeFindings>;
}

/** The memory of a new worker. */
export const emptyMemory: PodMemory = {
  stopping: new Map(),
  resized: new Set(),
  failedPostStart: new Set(),
  backOffs: new Map(),
  volumes: 'absent',
  prepared: new Map(),
  rejection: undefined,
  resize: { kind: 'fits' },
  updates: new Map(),
  predecessor: 'absent',
  eviction: undefined,
  instances: 'any',
  link: 'connected',
  remains: 'kept',
  maxRestartDelayMs: MAX_RESTART_DELAY_MS,
  restartedIds: new Set(),
  restartDelays: new Map(),
  probes: new Map(),
};
