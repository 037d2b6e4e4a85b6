import type { Instant } from '@gantry/base';
import type { ProbeFindings } from '../probes/probe-counter.ts';
import type { ResizeVerdict } from '../spec/resize.ts';
import type { PodRejection } from '../spec/pod-rejection.ts';
import type { BackOffEntry } from './back-off.ts';
import { MAX_RESTART_DELAY_MS } from './restart-delay.ts';
import type { ResourceLimits } from '../runtime/pod-groups.ts';

/** How far the stop of a container is. */
export interface Stopping {
  /** `hook`: its preStop hook runs. `turn`: it waits until it may be signalled. `signal`: it was signalled. */
  readonly phase: 'hook' | 'turn' | 'signal';
  /** When SIGKILL is due. */
  readonly killAt: Instant;
}

/** An update of pod-level resources: not repeated before `retryAt`. */
export interface GroupUpdateAttempt {
  readonly resources: ResourceLimits;
  readonly retryAt: Instant;
  /** Why it was refused. */
  readonly failure?: BackOffEntry;
}

/** The same of a container's resources, which the engine may show late. */
export interface UpdateAttempt extends GroupUpdateAttempt {
  readonly containerId: string;
}

/** That this node evicts a pod. */
export interface Eviction {
  /** Of the pod's status and its Event. */
  readonly message: string;
  /** At most; the pod's own may be shorter. */
  readonly graceSeconds: number;
  /** A pod is not to blame for what the node is short of, nor for a critical pod: its condition says that it was disrupted. */
  readonly cause: 'own-limit' | 'node-pressure' | 'critical-pod';
}

/** The reason in the pod's status, and of its Event. */
export function evictionReason({ cause }: Eviction): 'Evicted' | 'Preempting' {
  return cause === 'critical-pod' ? 'Preempting' : 'Evicted';
}

/** A worker's knowledge apart from API and engine. It may be lost: a restarted agent begins with `emptyMemory`. */
export interface PodMemory {
  /** By the ids of the containers that are being stopped. */
  readonly stopping: ReadonlyMap<string, Stopping>;
  /** Ids of containers that were stopped for their new resources: they are started again, whatever their exit code is. */
  readonly resized: ReadonlySet<string>;
  /** Ids of containers whose postStart hook failed. */
  readonly failedPostStart: ReadonlySet<string>;
  /** Container name → why it could not be started. */
  readonly backOffs: ReadonlyMap<string, BackOffEntry>;
  readonly volumes: 'absent' | 'ready' | BackOffEntry;
  /** Container name → what was created of it while its sandbox started. */
  readonly prepared: ReadonlyMap<string, { readonly id: string }>;
  /** Why the sandbox could not be created. */
  readonly sandbox?: BackOffEntry;
  /** Why this node rejects the pod; set before each plan. */
  readonly rejection: PodRejection | undefined;
  /** Whether new resources of the pod take effect; set before each plan. */
  readonly resize: ResizeVerdict;
  /** Container name → its last update. */
  readonly updates: ReadonlyMap<string, UpdateAttempt>;
  /** The last update of the pod's control group. */
  readonly groupUpdate?: GroupUpdateAttempt;
  /** Whether something of an earlier pod of the same name is left, for which a static pod waits; set before each plan. */
  readonly predecessor: 'absent' | 'present';
  /** Whether and why this node evicts the pod; set before each plan. */
  readonly eviction: Eviction | undefined;
  /** Whether the node needs what the containers of a pod that has ended take of its disk; set before each plan. */
  readonly remains: 'kept' | 'reclaimed';
  /** The longest delay before a restart; set before each plan. */
  readonly maxRestartDelayMs: number;
  /** Ids of containers that a restart of all removes, or has removed; set before each plan. */
  readonly restartedIds: ReadonlySet<string>;
  /** Container name → the delay after its next attempt, as a restart of all has left it; set before each plan. */
  readonly restartDelays: ReadonlyMap<string, number>;
  /** Container name → probe findings. */
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
  remains: 'kept',
  maxRestartDelayMs: MAX_RESTART_DELAY_MS,
  restartedIds: new Set(),
  restartDelays: new Map(),
  probes: new Map(),
};
