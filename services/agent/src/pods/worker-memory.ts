import type { BackOffEntry } from '../plan/back-off.ts';
import {
  emptyMemory,
  type GroupUpdateAttempt,
  type PodMemory,
  type Stopping,
  type UpdateAttempt,
} from '../plan/pod-memory.ts';
import type { PreparedContainer } from './start-container.ts';
import type { ProbeFindings } from '../probes/probe-counter.ts';

/** A stop that is under way. */
export interface ContainerStop extends Stopping {
  phase: Stopping['phase'];
  /** Ends its hook and its waiting, not the container. */
  readonly abort: AbortController;
}

/** The memory that a worker and its actions change. */
export interface WorkerMemory extends PodMemory {
  readonly stopping: Map<string, ContainerStop>;
  /** Container id → when SIGKILL is due on the monotonic clock, of those whose hook has run: a stop that is repeated runs none. */
  readonly hooked: Map<string, number>;
  readonly resized: Set<string>;
  readonly failedPostStart: Set<string>;
  /** Ids of containers that were killed: for their new resources where exit code 0 would end them, or with a sandbox which may be gone. */
  readonly killed: Set<string>;
  readonly backOffs: Map<string, BackOffEntry>;
  volumes: PodMemory['volumes'];
  readonly prepared: Map<string, PreparedContainer>;
  /** What is being taken away beside other work: what removes the pod's folders waits for it. */
  readonly disposals: Set<Promise<void>>;
  /** When the volumes' content was read last, on the monotonic clock. */
  volumesSyncedMs: number;
  /** The `volumesKey` of that content. */
  volumesKey: string;
  sandbox?: BackOffEntry;
  rejection: PodMemory['rejection'];
  resize: PodMemory['resize'];
  readonly updates: Map<string, UpdateAttempt>;
  groupUpdate?: GroupUpdateAttempt;
  predecessor: PodMemory['predecessor'];
  eviction: PodMemory['eviction'];
  remains: PodMemory['remains'];
  maxRestartDelayMs: number;
  restartedIds: PodMemory['restartedIds'];
  restartDelays: PodMemory['restartDelays'];
  readonly probes: Map<string, ProbeFindings>;
  /** The deletionTimestamp for which the object was deleted: finalizers may keep the object after that. */
  releasedFor: string | undefined;
}

/** An empty memory. */
export function createWorkerMemory(): WorkerMemory {
  return {
    ...emptyMemory,
    stopping: new Map(),
    hooked: new Map(),
    resized: new Set(),
    failedPostStart: new Set(),
    killed: new Set(),
    backOffs: new Map(),
    prepared: new Map(),
    disposals: new Set(),
    volumesSyncedMs: 0,
    volumesKey: '',
    updates: new Map(),
    probes: new Map(),
    releasedFor: undefined,
  };
}

/** Begins to dispose of something that reports its own failures, and does not wait for it. */
export function disposeLater({ disposals }: WorkerMemory, disposable: AsyncDisposable): void {
  const disposal = (async () => {
    await disposable[Symbol.asyncDispose]();
  })();
  disposals.add(disposal);
  const forget = () => disposals.delete(disposal);
  disposal.then(forget, forget);
}
