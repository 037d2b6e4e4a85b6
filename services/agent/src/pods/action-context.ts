import type { Pod } from '@gantry/objects';
import type { PodState } from '../runtime/observer.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';
import type { FreshnessGate } from './freshness-gate.ts';
import type { PodEvents } from './pod-events.ts';
import type { WorkerMemory } from './worker-memory.ts';
import type { EndServices, StartServices } from './worker-services.ts';

/** What an action that ends something works on. */
export interface EndContext {
  readonly uid: string;
  /** The object and the engine's state that were planned from. */
  readonly pod: Pod | undefined;
  readonly state: PodState | undefined;
  readonly memory: WorkerMemory;
  readonly events: PodEvents;
  readonly services: EndServices;
  /** Aborted as well when the pod is deleted during a step toward running. */
  readonly step: AbortSignal;
  /** Aborted when the agent stops. */
  readonly signal: AbortSignal;
  /** Makes the worker plan again. */
  readonly notify: () => void;
}

/** What any other action works on. */
export interface ActionContext extends EndContext {
  readonly services: StartServices;
  /** Passed again after a long wait: the pod may have ended meanwhile. */
  readonly gate: FreshnessGate;
  /** Reports a sandbox that runs, before the next plan does. */
  readonly sandboxRuns: (sandbox: SandboxState) => void;
}
