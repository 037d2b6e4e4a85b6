import type { Instant } from '@gantry/base';
import type { Instances, Owner, PodIdentity } from './labels.ts';
import type { ContainerGroup, ResourceLimits } from './pod-groups.ts';
import type { RunState } from './sandboxes.ts';

/** One bind mount of a container. */
export interface MountSpec {
  /** Path on the engine's host. */
  readonly hostPath: string;
  readonly containerPath: string;
  /** `recursively-read-only`: nested mounts are read-only, too. */
  readonly access: 'read-write' | 'read-only' | 'recursively-read-only';
  /** Whether later mounts of the host appear in the container, and mounts of the container on the host. */
  readonly propagation: 'none' | 'from-host' | 'both';
}

/** One block device of a container. */
export interface DeviceSpec {
  /** Path on the engine's host. Symbolic links are followed. */
  readonly hostPath: string;
  readonly containerPath: string;
  /** What an ordinary container may do with it. Privileged containers have full access to every device. */
  readonly access: 'read-write' | 'read-only';
}

/** The ids of a container's first process; `groups` contains `gid`. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

/** The security context of a container. */
export interface ContainerSecurity {
  readonly user?: string;
  /** The ids that `user` and `groups` resolve to; absent when files of the image are needed to resolve them. */
  readonly processUser?: ProcessUser;
  readonly groups: readonly string[];
  readonly privilege: 'ordinary' | 'privileged';
  readonly capabilities: { readonly add: readonly string[]; readonly drop: readonly string[] };
  readonly rootFilesystem: 'read-write' | 'read-only';
  readonly escalation: 'allowed' | 'denied';
  /** `profile`: the JSON text of a seccomp profile. */
  readonly seccomp: 'engine-default' | 'unconfined' | { readonly profile: string };
  readonly appArmor: AppArmor;
  /** Parts of the SELinux label that replace the engine's. The engine ignores them without SELinux. */
  readonly seLinux: Readonly<Partial<Record<'user' | 'role' | 'type' | 'level', string>>>;
  /** Whether the engine masks the parts of /proc that expose or change the host. */
  readonly proc: 'masked' | 'unmasked';
}

/**
 * `engine-default`: the engine's choice; privileged containers get no profile. `runtime-default`: the engine's profile for every
 * container.
 */
export type AppArmor =
  | { readonly kind: 'engine-default' | 'runtime-default' | 'unconfined' }
  | { readonly kind: 'profile'; readonly name: string };

/** Identifies a container: names, labels and links that the agent needs to adopt it after a restart. */
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
  /** Absent: any. */
  readonly instances?: Instances;
  /** The agent's path of the file that is mounted as the termination message. */
  readonly terminationMessagePath?: string;
}

/** What the container runs. */
export interface ContainerProcess {
  /** The id of an image. With a name, the engine could use another image than the one whose user and labels were checked. */
  readonly image: string;
  /** Names of the image's labels. The container must carry none of them. */
  readonly imageLabels: readonly string[];
  /** The low-level runtime; absent: the engine's default. */
  readonly runtime?: string;
  /** Absent: the image's entry point. */
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** Such as `SIGUSR1`; absent: the image's. */
  readonly stopSignal?: string;
  readonly stdin: 'closed' | 'open' | 'open-once';
  readonly terminal: 'none' | 'tty';
}

/** The definition of a container. It joins its sandbox's network namespace. */
export interface ContainerSpec extends ContainerIdentity, ContainerProcess {
  readonly mounts: readonly MountSpec[];
  readonly devices: readonly DeviceSpec[];
  readonly resources: ResourceLimits;
  readonly group: ContainerGroup;
  /** The maximum number of processes and threads. */
  readonly processLimit: number | 'unlimited';
  readonly oomScoreAdj: number;
  readonly security: ContainerSecurity;
  /** The container's process namespace, or the container to share one with, which must be running. */
  readonly processes: 'own' | 'shared-with-pod' | 'host' | { readonly containerId: string };
  /** The container's IPC namespace. */
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
  /** `paused`: something other than the agent has frozen its processes. Its state is still `running`. */
  readonly activity?: 'paused';
  readonly createdAt: Instant;
  readonly startedAt?: Instant;
  readonly finishedAt?: Instant;
  readonly exitCode?: number;
  readonly endedBy?: 'oom';
  /** `before-restart`: it was created before the machine started for the last time, so that its end says nothing about its program. */
  readonly age?: 'before-restart';
  /** The engine's message about a failed start. */
  readonly error?: string;
  readonly restartDelayMs: number;
  readonly terminationMessagePath?: string;
  /** As in the container's spec. */
  readonly processUser?: ProcessUser;
  /** The engine's current limits; they can change while the container runs. */
  readonly resources: ResourceLimits;
}

/** The result of a command; `output` is standard output and standard error. */
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
   * Sends the container's stop signal, then SIGKILL after the grace period. Resolves when the container no longer runs. A second
   * call may shorten the grace period.
   */
  stopContainer(id: string, graceSeconds: number, signal: AbortSignal): Promise<void>;
  /**
   * Changes the limits of a running container. AgentError 'Runtime' when the engine cannot, for example because the container
   * uses more memory than the new limit; 'NotFound' when there is no such container.
   */
  updateContainer(id: string, resources: ResourceLimits, signal: AbortSignal): Promise<void>;
  removeContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Runs a command and kills it when `signal` is aborted. */
  exec(id: string, command: readonly string[], signal: AbortSignal): Promise<ExecResult>;
}

/** Resumes containers that something other than the agent has paused. Sandboxes are containers, too. */
export interface PauseRuntime {
  /** Idempotent: a container that is not paused or does not exist is not an error. AgentError 'Runtime' when the engine cannot. */
  unpause(id: string, signal: AbortSignal): Promise<void>;
}
