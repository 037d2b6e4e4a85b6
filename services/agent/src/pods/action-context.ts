import type { Pod } from '@gantry/objects';
import type { PodState } from '../runtime/observer.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';
import type { FreshnessGate } from './freshness-gate.ts';
import type { PodEvents } from './pod-events.ts';
import type { WorkerMemory } from './worker-memory.ts';
import type { EndServices, StartServices } from './worker-services.ts';

/** The context of an action that ends something. */
export interface EndContext {
  readonly uid: string;
  /** The object and the engine's state on which the plan is based. */
  readonly pod: Pod | undefined;
  readonly state: PodState | undefined;
  readonly memory: WorkerMemory;
  readonly events: PodEvents;
  readonly services: EndServices;
  /** Also aborted when the pod is deleted during a step toward running. */
  readonly step: AbortSignal;
  /** Aborted when the agent stops. */
  readonly signal: AbortSignal;
  /**
   * Proves that no container of the pod exists and none can start, and writes that into the object. The object is removed only in the
   * version returned. Absent: this node's own agent, which starts the pod's containers itself.
   */
  readonly prove?: (pod: Pod) => Promise<Pod>;
  /** Makes the worker plan again. */
  readonly notify: () => void;
}

/** The context of any other action. */
export interface ActionContext extends EndContext {
  readonly services: StartServices;
  /** Pass it again after a long wait, since the pod may have ended meanwhile. */
  readonly gate: FreshnessGate;
  /** Reports a running sandbox before the next plan does. */
  readonly sandboxRuns: (sandbox: SandboxState) => void;
}
