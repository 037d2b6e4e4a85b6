import type { Instant } from '@gantry/base';
import type { AgentAddress } from './agent-connection.ts';

/** Resource usage, averaged over a window. */
export interface Usage {
  /** Billionths of a core. */
  readonly cpuNanoCores: number;
  /** The working set. */
  readonly memoryBytes: number;
}

/** The time window of a measurement. */
export interface Window {
  /** The end of the window. */
  readonly at: Instant;
  readonly windowMs: number;
}

/** The usage of one pod, as its agent reports it. */
export interface PodUsage extends Window {
  /** Usage by container name. */
  readonly containers: ReadonlyMap<string, Usage>;
}

/** The usage of a node, as its agent reports it. Pods are by uid. */
export interface NodeUsage {
  readonly node: (Usage & Window) | undefined;
  readonly pods: ReadonlyMap<string, PodUsage>;
}

/** Reads the usage of nodes from agents. */
export interface UsageSource {
  /** Returns usage by node name within seconds, without agents that do not respond. Rejects only when `signal` is aborted. */
  read(agents: readonly AgentAddress[], signal: AbortSignal): Promise<ReadonlyMap<string, NodeUsage>>;
}
