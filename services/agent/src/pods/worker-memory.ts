import type { BackOffEntry } from '../plan/back-off.ts';
import {
  emptyMemory,
  type GroupUpdateAttempt,
  type PodMemory,
  type Stopping,
  type UpdateAttempt,
} from '../plan/pod-memory.ts';
import { Slots } from './slots.ts';
import type { PreparedContainer } from './start-container.ts';
import type { ProbeFindings } from '../probes/probe-counter.ts';

/** How many containers of a pod are defined at once. With `ProgramSize`, this limits what their variables cost the agent. */
const MAX_DRAFTS = 4;

/** A stop in progress. */
export interface ContainerStop extends Stopping {
  phase: Stopping['phase'];
  /** Aborts its hook and its wait; the container continues. */
  readonly abort: AbortController;
}

/** What a stop of a container owes to the stops before it. */
export interface ContainerEnd {
  /** When SIGKILL is due, on the monotonic clock. */
  readonly killAtMs: number;
  readonly hook: 'due' | 'done';
}

/** The memory as a worker and its actions change it. */
export interface WorkerMemory extends PodMemory {
  readonly stopping: Map<string, ContainerStop>;
  /**
   * The running containers that have begun to stop, by container id. A repeated stop neither lets them run longer, nor runs their hook
   * again.
   */
  readonly ends: Map<string, ContainerEnd>;
  readonly resized: Set<string>;
  readonly failedPostStart: Set<string>;
  /** Ids of containers that were killed for new resources although exit code 0 would be final, or with a sandbox that may be gone. */
  readonly killed: Set<string>;
  readonly backOffs: Map<string, BackOffEntry>;
  volumes: PodMemory['volumes'];
  /** The definitions of containers that exist at once. */
  readonly drafts: Slots;
  readonly prepared: Map<string, PreparedContainer>;
  /** Running disposals. The removal of the pod's folders waits for them. */
  readonly disposals: Set<Promise<void>>;
  /** When the volumes' content was last updated, on the monotonic clock. */
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
  instances: PodMemory['instances'];
  link: PodMemory['link'];
  remains: PodMemory['remains'];
  maxRestartDelayMs: number;
  restartedIds: PodMemory['restartedIds'];
  restartDelays: PodMemory['restartDelays'];
  readonly probes: Map<string, ProbeFindings>;
  /** The deletionTimestamp for which the object was released. Finalizers may keep the object afterwards. */
  releasedFor: string | undefined;
}

/** An empty memory. */
export function createWorkerMemory(): WorkerMemory {
  return {
    ...emptyMemory,
    stopping: new Map(),
    ends: new Map(),
    resized: new Set(),
    failedPostStart: new Set(),
    killed: new Set(),
    backOffs: new Map(),
    drafts: new Slots(MAX_DRAFTS),
    prepared: new Map(),
    disposals: new Set(),
    volumesSyncedMs: 0,
    volumesKey: '',
    updates: new Map(),
    probes: new Map(),
    releasedFor: undefined,
  };
}

/** Starts to dispose of something without waiting. The disposable reports its own failures. */
export function disposeLater({ disposals }: WorkerMemory, disposable: AsyncDisposable): void {
  const disposal = (async () => {
    await disposable[Symbol.asyncDispose]();
  })();
  disposals.add(disposal);
  const forget = () => disposals.delete(disposal);
  disposal.then(forget, forget);
}
