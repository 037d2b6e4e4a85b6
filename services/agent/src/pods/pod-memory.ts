import type { Instant } from '@gantry/base';

/** A step that failed and is tried again at `retryAt`: what a container waits for. */
export interface Setback {
  /** Kubernetes' waiting reason: ErrImagePull, CreateContainerConfigError, … */
  readonly reason: string;
  readonly message: string;
  readonly failures: number;
  readonly failedAt: Instant;
  readonly retryAt: Instant;
}

/** What the probes of one container found. Absent results count as kubelet's: ready without a probe, otherwise not. */
export interface ProbeFindings {
  readonly containerId: string;
  readonly started: boolean;
  readonly ready: boolean;
  /** Which probe wants the container restarted. */
  readonly failed?: 'liveness' | 'startup';
}

/** What a worker knows besides API and engine. All of it may be lost: a restarted agent begins with `emptyMemory`. */
export interface PodMemory {
  /** Containers being stopped → when SIGKILL is due. */
  readonly stopping: ReadonlyMap<string, Instant>;
  /** Container name → why it could not be made. */
  readonly setbacks: ReadonlyMap<string, Setback>;
  readonly volumes: 'absent' | 'ready' | Setback;
  /** Why there is no sandbox. */
  readonly sandbox?: Setback;
  /** Container name → probe findings. */
  readonly probes: ReadonlyMap<string, ProbeFindings>;
}

export const emptyMemory: PodMemory = {
  stopping: new Map(),
  setbacks: new Map(),
  volumes: 'absent',
  probes: new Map(),
};
