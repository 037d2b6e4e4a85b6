import type { Instant } from '@gantry/base';
import type { Instances, Owner, PodIdentity } from './labels.ts';
import type { ContainerGroup, ResourceLimits } from './pod-groups.ts';

/** The definition of a pod's sandbox: the container that owns the network and IPC namespaces. */
export interface SandboxSpec {
  readonly owner: Owner;
  readonly pod: PodIdentity;
  /** 0 for the first. Part of the name, so that creating the same attempt twice fails instead of creating a duplicate. */
  readonly attempt: number;
  readonly image: string;
  /** Names of the image's labels. The sandbox must carry none of them. */
  readonly imageLabels: readonly string[];
  /** The low-level runtime; absent: the engine's default. */
  readonly runtime?: string;
  /** The sandbox's IPC namespace. */
  readonly ipc: 'own' | 'host';
  /** The seccomp profile: a profile for sandboxes, or the engine's default for containers. */
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
  /** Absent: any. */
  readonly instances?: Instances;
  /** The pod-level resources, enforced by the pod's own control group; absent: it has no group. */
  readonly resources?: ResourceLimits;
}

/** The name server of a pod: the engine's, or one on the network. */
export type NameServer = 'engine' | 'network';

/** A network of the engine for pods. The engine resolves names only in sandboxes that it connects itself, which takes longer. */
export interface PodNetwork {
  readonly kind: 'pod';
  readonly name: string;
  readonly address: string;
  readonly nameServer: NameServer;
}

/** `created`: never started, or a sandbox that is not connected to its network. `exited`: has ended, or failed to start. */
export type RunState = 'created' | 'running' | 'exited';

/** A sandbox as the runtime reports it. */
export interface SandboxState {
  readonly id: string;
  readonly attempt: number;
  readonly state: RunState;
  /** As in `ContainerState`. */
  readonly activity?: 'paused';
  /** The pod's containers use the same group, even if the pod's spec has changed since. */
  readonly group: ContainerGroup;
  readonly createdAt: Instant;
  readonly finishedAt?: Instant;
  /** '' on the host's network, or while the sandbox does not run. */
  readonly address: string;
}

/** Whether the pod's containers belong in its own control group: they follow its running sandbox. */
export function isGrouped(sandboxes: readonly SandboxState[]): boolean {
  return sandboxes.some(({ state, group }) => state === 'running' && group === 'pod');
}

/** Creates and removes sandboxes. Stop and remove are idempotent: a sandbox that does not exist is not an error. */
export interface SandboxRuntime {
  /**
   * Creates and starts the sandbox. `created` is called in between; from then on, containers that join the sandbox may be
   * created. AgentError 'AddressInUse' when the address is taken; the failed sandbox is removed then. AgentError 'Conflict' when
   * this attempt exists.
   */
  createSandbox(spec: SandboxSpec, signal: AbortSignal, created?: (id: string) => void): Promise<string>;
  /** Kills its process immediately. Its address is free once the kernel has removed its network namespace. */
  stopSandbox(id: string, signal: AbortSignal): Promise<void>;
  removeSandbox(id: string, signal: AbortSignal): Promise<void>;
}
