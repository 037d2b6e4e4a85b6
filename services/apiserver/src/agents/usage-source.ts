import type { Instant } from '@gantry/base';
import type { AgentAddress } from './agent-connection.ts';

/** What is used, on average over a window. */
export interface Usage {
  /** Billionths of a core. */
  readonly cpuNanoCores: number;
  /** The working set. */
  readonly memoryBytes: number;
}

/** The window of a measurement. */
export interface Window {
  /** Its end. */
  readonly at: Instant;
  readonly windowMs: number;
}

/** What an agent said of one pod. */
export interface PodUsage extends Window {
  /** By container. */
  readonly containers: ReadonlyMap<string, Usage>;
}

/** What an agent said of its node; the pods by uid. */
export interface NodeUsage {
  readonly node: (Usage & Window) | undefined;
  readonly pods: ReadonlyMap<string, PodUsage>;
}

/** Asks agents what their nodes use. */
export interface UsageSource {
  /** By node. Never fails, and ends within seconds: agents that do not respond are left out. */
  read(agents: readonly AgentAddress[], signal: AbortSignal): Promise<ReadonlyMap<string, NodeUsage>>;
}
