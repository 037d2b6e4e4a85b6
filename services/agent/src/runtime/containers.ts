import type { Instant } from '@gantry/base';
import type { Owner, PodIdentity } from './labels.ts';
import type { ContainerGroup, ResourceLimits } from './pod-groups.ts';
import type { RunState } from './sandboxes.ts';

/** One bind mount of a container. */
export interface MountSpec {
  /** Path on the engine's host. */
  readonly hostPath: string;
  readonly containerPath: string;
  /** `recursively-read-only`: what is mounted in it cannot be written to either. */
  readonly access: 'read-write' | 'read-only' | 'recursively-read-only';
  /** Whether later mounts of the host appear in it, and its own on the host. */
  readonly propagation: 'none' | 'from-host' | 'both';
}

/** One block device of a container. */
export interface DeviceSpec {
  /** Path on the engine's host. A link there is followed. */
  readonly hostPath: string;
  readonly containerPath: string;
  /** What an ordinary container may do with it: a privileged one may do everything with every device. */
  readonly access: 'read-write' | 'read-only';
}

/** The ids that a container's first process begins with; `groups` has its own group, too. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

/** The security context of a container. */
export interface ContainerSecurity {
  readonly user?: string;
  /** What `user` and `groups` come to; absent when it takes files of the image to know it. */
  readonly processUser?: ProcessUser;
  readonly groups: readonly string[];
  readonly privilege: 'ordinary' | 'privileged';
  readonly capabilities: { readonly add: readonly string[]; readonly drop: readonly string[] };
  readonly rootFilesystem: 'read-write' | 'read-only';
  readonly escalation: 'allowed' | 'denied';
  /** `profile`: the JSON text of one. */
  readonly seccomp: 'engine-default' | 'unconfined' | { readonly profile: string };
  readonly appArmor: AppArmor;
  /** Parts of the SELinux label that replace the engine's; without SELinux the engine ignores them. */
  readonly seLinux: Readonly<Partial<Record<'user' | 'role' | 'type' | 'level', string>>>;
  /** Whether the engine hides what /proc tells and allows of the host. */
  readonly proc: 'masked' | 'unmasked';
}

/** `engine-default`: what the engine gives; it gives privileged containers none. `runtime-default`: its profile in any case. */
export type AppArmor =
  | { readonly kind: 'engine-default' | 'runtime-default' | 'unconfined' }
  | { readonly kind: 'profile'; readonly name: string };

/** Which container this is: names, labels and links that adoption needs. */
export interface ContainerIdentity {
  readonly owner: Owner;
  readonly pod: PodIdentity;
  readonly name: string;
  /** Equal to the container's restartCount. */
  readonly attempt: number;
  readonly sandboxId: string;
  readonly hash: string;
  /** How long a successor must wait after this container's end. */
  readonly restartDelayMs: number;
  readonly graceSeconds: number;
  /** The agent's path of the file that is mounted as the termination message. */
  readonly terminationMessagePath?: string;
}

/** What the container runs. */
export interface ContainerProcess {
  /** The id of an image: by its name, the engine could take another one than the one whose user and labels were checked. */
  readonly image: string;
  /** Names of the image's labels, none of which the container may carry. */
  readonly imageLabels: readonly string[];
  /** The low-level runtime; absent: the engine's default. */
  readonly runtime?: string;
  /** Absent: the image's entry point. */
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** `SIGUSR1`, …; absent: the image's. */
  readonly stopSignal?: string;
  readonly stdin: 'closed' | 'open' | 'open-once';
  readonly terminal: 'none' | 'tty';
}

/** What a container is made of, by groups of fields. It joins its sandbox's network namespace. */
export interface ContainerSpec extends ContainerIdentity, ContainerProcess {
  readonly mounts: readonly MountSpec[];
  readonly devices: readonly DeviceSpec[];
  readonly resources: ResourceLimits;
  readonly group: ContainerGroup;
  /** How many processes and threads it may have at a time. */
  readonly processLimit: number | 'unlimited';
  readonly oomScoreAdj: number;
  readonly security: ContainerSecurity;
  /** Its process namespace, or the container that it shares one with, which must run. */
  readonly processes: 'own' | 'shared-with-pod' | 'host' | { readonly containerId: string };
  /** Its IPC namespace. */
  readonly ipc: 'shared-with-pod' | 'host';
}

/** A container as the runtime reports it. */
export interface ContainerState {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly sandboxId: string;
  readonly hash: string;
  readonly image: string;
  readonly imageId: string;
  readonly state: RunState;
  /** `paused`: something else than the agent has frozen its processes, though it counts as running. */
  readonly activity?: 'paused';
  readonly createdAt: Instant;
  readonly startedAt?: Instant;
  readonly finishedAt?: Instant;
  readonly exitCode?: number;
  readonly endedBy?: 'oom';
  /** The engine's message about a failed start. */
  readonly error?: string;
  readonly restartDelayMs: number;
  readonly terminationMessagePath?: string;
  /** As its spec had it. */
  readonly processUser?: ProcessUser;
  /** What the engine holds it to; it can be changed while the container runs. */
  readonly resources: ResourceLimits;
}

/** The result of a command; its output is standard output and error. */
export interface ExecResult {
  readonly exitCode: number;
  readonly output: string;
}

/** Creates, runs and removes containers. Stop and remove are idempotent. */
export interface ContainerRuntime {
  /** AgentError 'Conflict' when this attempt exists, 'CreateContainerError' otherwise. */
  createContainer(spec: ContainerSpec, signal: AbortSignal): Promise<string>;
  /** AgentError 'RunContainerError' when the engine cannot start it. */
  startContainer(id: string, signal: AbortSignal): Promise<void>;
  /**
   * Sends the container's stop signal, then SIGKILL after the grace period. Resolves when the container does not run. A second
   * call may shorten the grace.
   */
  stopContainer(id: string, graceSeconds: number, signal: AbortSignal): Promise<void>;
  /**
   * Changes what a running container is held to. AgentError 'Runtime' when the engine cannot: it uses more memory than that;
   * 'NotFound' when there is none.
   */
  updateContainer(id: string, resources: ResourceLimits, signal: AbortSignal): Promise<void>;
  removeContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Runs a command and kills it when `signal` is aborted. */
  exec(id: string, command: readonly string[], signal: AbortSignal): Promise<ExecResult>;
}

/** Lets containers go on that something else than the agent has paused. Sandboxes are containers, too. */
export interface PauseRuntime {
  /** Idempotent: a container that is not paused or does not exist is not an error. AgentError 'Runtime' when the engine cannot. */
  unpause(id: string, signal: AbortSignal): Promise<void>;
}
