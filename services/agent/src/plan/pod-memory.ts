import type { Instant } from '@gantry/base';
import type { ProbeFindings } from '../probes/probe-counter.ts';
import type { PodRejection } from '../spec/pod-rejection.ts';
import type { BackOffEntry } from './back-off.ts';
import { MAX_RESTART_DELAY_MS } from './restart-delay.ts';

/** A worker's knowledge apart from API and engine. It may be lost: a restarted agent begins with `emptyMemory`. */
export interface PodMemory {
  /** Containers being stopped → when SIGKILL is due. */
  readonly stopping: ReadonlyMap<string, Instant>;
  /** Container name → why it could not be started. */
  readonly backOffs: ReadonlyMap<string, BackOffEntry>;
  readonly volumes: 'absent' | 'ready' | BackOffEntry;
  /** Why the sandbox could not be created. */
  readonly sandbox?: BackOffEntry;
  /** Why this node rejects the pod; set before each plan. */
  readonly rejection: PodRejection | undefined;
  /** The longest delay before a restart; set before each plan. */
  readonly maxRestartDelayMs: number;
  /** Container name → probe findings. */
  readonly probes: ReadonlyMap<string, ProbeFindings>;
}

/** The memory of a new worker. */
export const emptyMemory: PodMemory = {
  stopping: new Map(),
  backOffs: new Map(),
  volumes: 'absent',
  rejection: undefined,
  maxRestartDelayMs: MAX_RESTART_DELAY_MS,
  probes: new Map(),
};
