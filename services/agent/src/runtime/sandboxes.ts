import type { Instant } from '@gantry/base';
import type { Owner, PodIdentity } from './labels.ts';
import type { ContainerGroup, ResourceLimits } from './pod-groups.ts';

/** What a pod's sandbox is made of: the container that owns the network and IPC namespaces. */
export interface SandboxSpec {
  readonly owner: Owner;
  readonly pod: PodIdentity;
  /** 0 for the first; part of the name, so that a second create of the same attempt fails instead of making a double. */
  readonly attempt: number;
  readonly image: string;
  /** Names of the image's labels, none of which the sandbox may carry. */
  readonly imageLabels: readonly string[];
  /** The low-level runtime; absent: the engine's default. */
  readonly runtime?: string;
  /** Its IPC namespace. */
  readonly ipc: 'own' | 'host';
  /** Its profile: a sandbox's own, or what the engine gives every container. */
  readonly seccomp: 'own' | 'engine-default';
  readonly hostname: string;
  /** A network of pods and the address on it, or the host's own network. */
  readonly network: PodNetwork | { readonly kind: 'host' };
  /** `name → address` lines for its hosts file. */
  readonly hostAliases: readonly { readonly ip: string; readonly hostnames: readonly string[] }[];
  readonly dns: {
    readonly servers: readonly string[];
    readonly searches: readonly string[];
    readonly options: readonly string[];
  };
  readonly sysctls: Readonly<Record<string, string>>;
  readonly oomScoreAdj: number;
  readonly graceSeconds: number;
  /** The pod-level resources, held in a control group of the pod's own; absent: it has none. */
  readonly resources?: ResourceLimits;
}

/** Whose name server answers in a pod: the engine's, or only one on the network. */
export type NameServer = 'engine' | 'network';

/** A network of the engine for pods. The engine answers names only in sandboxes that it connects itself, which takes it longer. */
export interface PodNetwork {
  readonly kind: 'pod';
  readonly name: string;
  readonly address: string;
  readonly nameServer: NameServer;
}

/** `created`: never started; of a sandbox, also: not connected to its network. `exited`: has ended, or failed to start. */
export type RunState = 'created' | 'running' | 'exited';

/** A sandbox as the runtime reports it. */
export interface SandboxState {
  readonly id: string;
  readonly attempt: number;
  readonly state: RunState;
  /** As of a container. */
  readonly activity?: 'paused';
  /** Its containers are there, too, whatever the pod says by now. */
  readonly group: ContainerGroup;
  readonly createdAt: Instant;
  readonly finishedAt?: Instant;
  /** '' on the host's network or while it does not run. */
  readonly address: string;
}

/** Whether the containers of a pod are in a control group of its own: as its running sandbox is. */
export function isGrouped(sandboxes: readonly SandboxState[]): boolean {
  return sandboxes.some(({ state, group }) => state === 'running' && group === 'pod');
}

/** Creates and removes sandboxes. Stop and remove are idempotent: a sandbox that does not exist is not an error. */
export interface SandboxRuntime {
  /**
   * Creates and starts. `created` is called in between: containers that join the sandbox may be created from then on. AgentError 'AddressInUse' when the address is taken; the failed sandbox is removed then. AgentError
   * 'Conflict' when this attempt exists.
   */
  createSandbox(spec: SandboxSpec, signal: AbortSignal, created?: (id: string) => void): Promise<string>;
  /** Kills its process at once; its address is free when the kernel has taken its network apart. */
  stopSandbox(id: string, signal: AbortSignal): Promise<void>;
  removeSandbox(id: string, signal: AbortSignal): Promise<void>;
}
