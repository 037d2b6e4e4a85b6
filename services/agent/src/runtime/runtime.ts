import type { Instant } from '@gantry/base';
import type { Owner, PodIdentity } from './labels.ts';

/** What a pod's sandbox is made of: the container that owns the network and IPC namespaces. */
export interface SandboxSpec {
  readonly owner: Owner;
  readonly pod: PodIdentity;
  /** 0 for the first; part of its name, so that two makers of the same attempt collide instead of doubling. */
  readonly attempt: number;
  readonly image: string;
  readonly hostname: string;
  /** Name of the network and the address on it, or the host's own network. */
  readonly network:
    | { readonly kind: 'pod'; readonly name: string; readonly address: string }
    | { readonly kind: 'host' };
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
}

export interface MountSpec {
  /** Path on the engine's host. */
  readonly hostPath: string;
  readonly containerPath: string;
  readonly access: 'read-write' | 'read-only';
}

export interface ResourceLimits {
  readonly cpuShares?: number;
  readonly cpuQuotaMicros?: number;
  readonly memoryBytes?: number;
}

export interface ContainerSecurity {
  readonly user?: string;
  readonly groups: readonly string[];
  readonly privilege: 'ordinary' | 'privileged';
  readonly capabilities: { readonly add: readonly string[]; readonly drop: readonly string[] };
  readonly rootFilesystem: 'read-write' | 'read-only';
  readonly escalation: 'allowed' | 'denied';
}

/** What a container is made of. It joins its sandbox's network and IPC namespaces. */
export interface ContainerSpec {
  readonly owner: Owner;
  readonly pod: PodIdentity;
  readonly name: string;
  /** Equal to the container's restartCount. */
  readonly attempt: number;
  readonly sandboxId: string;
  readonly hash: string;
  readonly image: string;
  /** Absent: the image's entry point. */
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly mounts: readonly MountSpec[];
  readonly resources: ResourceLimits;
  readonly security: ContainerSecurity;
  readonly processes: 'own' | 'shared-with-pod' | 'host';
  readonly stdin: 'closed' | 'open' | 'open-once';
  readonly terminal: 'none' | 'tty';
  readonly oomScoreAdj: number;
  readonly restartDelayMs: number;
  readonly graceSeconds: number;
  /** The agent's path of the file that is mounted as the termination message. */
  readonly terminationMessagePath?: string;
}

export type RunState = 'created' | 'running' | 'exited';

/** A sandbox as it is. */
export interface SandboxState {
  readonly id: string;
  readonly attempt: number;
  readonly state: RunState;
  readonly createdAt: Instant;
  readonly finishedAt?: Instant;
  /** '' on the host's network or while it does not run. */
  readonly address: string;
}

/** A container as it is. */
export interface ContainerState {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly sandboxId: string;
  readonly hash: string;
  readonly image: string;
  readonly imageId: string;
  readonly state: RunState;
  readonly createdAt: Instant;
  readonly startedAt?: Instant;
  readonly finishedAt?: Instant;
  readonly exitCode?: number;
  readonly endedBy?: 'oom';
  /** What the engine says of a start that failed. */
  readonly error?: string;
  readonly restartDelayMs: number;
  readonly terminationMessagePath?: string;
}

/** Everything of one pod that exists in the engine, newest attempts first. */
export interface PodState {
  readonly owner: Owner;
  readonly identity: PodIdentity;
  readonly graceSeconds: number;
  readonly sandboxes: readonly SandboxState[];
  readonly containers: readonly ContainerState[];
}

/** Makes and removes sandboxes. All but `createSandbox` are idempotent: what is gone already is no error. */
export interface SandboxRuntime {
  /** Creates and starts. AgentError 'AddressInUse' when somebody has the address: nothing is left then. 'Conflict': this attempt exists. */
  createSandbox(spec: SandboxSpec, signal: AbortSignal): Promise<string>;
  /** Ends its process at once; its address is free afterwards. */
  stopSandbox(id: string, signal: AbortSignal): Promise<void>;
  removeSandbox(id: string, signal: AbortSignal): Promise<void>;
}

export interface ExecResult {
  readonly exitCode: number;
  readonly output: string;
}

/** Makes, runs and removes containers. Stop and remove are idempotent. */
export interface ContainerRuntime {
  /** AgentError 'Conflict' when this attempt exists, 'CreateContainerError' otherwise. */
  createContainer(spec: ContainerSpec, signal: AbortSignal): Promise<string>;
  /** AgentError 'RunContainerError' when the engine cannot start it. */
  startContainer(id: string, signal: AbortSignal): Promise<void>;
  /** The image's stop signal, then SIGKILL after the grace period. Resolves when it does not run. A second call may shorten the grace. */
  stopContainer(id: string, graceSeconds: number, signal: AbortSignal): Promise<void>;
  removeContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Runs a command and kills it when `signal` is aborted. */
  exec(id: string, command: readonly string[], signal: AbortSignal): Promise<ExecResult>;
}

export interface ImageInfo {
  readonly id: string;
  readonly sizeBytes: number;
  /** Repository digests and tags; the first digest is what `imageID` shows. */
  readonly digests: readonly string[];
  /** The image's user: '' is root. */
  readonly user: string;
}

export interface ImageRuntime {
  /** Undefined when the engine does not have it. */
  inspectImage(reference: string, signal: AbortSignal): Promise<ImageInfo | undefined>;
  /** AgentError 'ErrImagePull' with the registry's answer. */
  pullImage(reference: string, signal: AbortSignal): Promise<void>;
}

/** Something happened to a container of the cluster: look again at this pod. */
export interface RuntimeEvent {
  readonly node: string;
  readonly podUid: string;
  readonly what: 'started' | 'ended' | 'removed';
}

/** Which pods to look at; absent fields match everything of the cluster on this engine. */
export interface PodFilter {
  readonly cluster: string;
  readonly node?: string;
  readonly podUid?: string;
}

export interface RuntimeObserver {
  listPods(filter: PodFilter, signal: AbortSignal): Promise<readonly PodState[]>;
  /**
   * Events from now on. The first element is 'connected', before which nothing is promised; list after it. Ends with an
   * error when the engine goes away; the caller connects again.
   */
  watch(cluster: string, signal: AbortSignal): AsyncIterable<RuntimeEvent | 'connected'>;
}

export interface LogOptions {
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number;
  readonly since?: Instant;
}

export interface LogRuntime {
  /** Standard output and error, interleaved as written, without framing. Ends with the log, or with the container while following. */
  readLogs(containerId: string, options: LogOptions, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** What the engine is and what it can do. */
export interface EngineInfo {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly kernel: string;
  readonly os: string;
  readonly architecture: string;
}

/** What a throw-away container showed: an engine without CAP_SYS_RESOURCE refuses negative OOM scores and full privilege. */
export type EnginePrivilege = 'full' | 'no-sys-resource';

export interface EngineRuntime {
  info(signal: AbortSignal): Promise<EngineInfo>;
  /** Resolves when the engine answers; cheap. */
  ping(signal: AbortSignal): Promise<void>;
  /** Starts and removes one container of `image` (labelled as `owner`'s, of no pod). */
  probe(image: string, owner: Owner, signal: AbortSignal): Promise<EnginePrivilege>;
}

/** The container runtime: CRI's nouns, one small port each. */
export interface Runtime {
  readonly sandboxes: SandboxRuntime;
  readonly containers: ContainerRuntime;
  readonly images: ImageRuntime;
  readonly observer: RuntimeObserver;
  readonly logs: LogRuntime;
  readonly engine: EngineRuntime;
}
