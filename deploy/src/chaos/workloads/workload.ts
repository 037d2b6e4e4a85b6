import type { Clock, Random } from '@gantry/base';
import type { HttpClient } from '@gantry/client';
import type { KubeObject, Resource } from '@gantry/objects';
import type { RunFolder } from '../recording/run-folder.ts';
import type { Tally } from './tally.ts';

/** What a workload works with. */
export interface WorkloadContext {
  /** Opens a client of its own, with connections of its own. It is closed when the run is over. */
  readonly connect: () => HttpClient;
  /** For programs that are clients. */
  readonly kubeconfig: string;
  /**
   * Creates an object in the namespace of the run, before the load begins. A request whose outcome is not known is repeated. Throws
   * CommandError for an object that is refused, or that is not there in time.
   */
  readonly create: <T extends KubeObject>(resource: Resource<T>, object: NoInfer<T>) => Promise<T>;
  readonly namespace: string;
  /** The image of the cluster's services, for pods: it has Node.js. */
  readonly serviceImage: string;
  readonly folder: RunFolder;
  readonly tally: Tally;
  readonly clock: Clock;
  readonly random: Random;
  /** Requests a second of a load at a rate. */
  readonly rate: number;
  /** Waits for the cluster as `untilRight` does, at most as long as the campaign, or the time given in milliseconds. */
  readonly untilRight: (
    look: (signal: AbortSignal) => Promise<readonly string[]>,
    limitMs?: number,
  ) => Promise<readonly string[]>;
  /** Whether a version was written after a snapshot that was restored since. */
  readonly isLost: (resourceVersion: string) => boolean;
  /** The user has ended the campaign: nothing is waited for any more. */
  readonly interrupted: AbortSignal;
  /** The run is over, whether it has come to its end or has failed: what still runs ends. */
  readonly over: AbortSignal;
}

/** What a user of the cluster does while faults act, and how to tell whether the cluster did right. */
export interface Workload {
  readonly name: string;
  /** One sentence for `--help` and docs/chaos.md. */
  readonly what: string;
  /** It knows which of its writes the restore of a snapshot loses; absent: it would take that for a violation. */
  readonly restores?: 'known';
  /** It is nothing without agents that run pods. */
  readonly pods?: 'needed';
  /** What this machine has not, with the command that makes it; undefined if nothing is missing. Absent: it needs nothing. */
  readonly missing?: () => string | undefined;
  /** Creates its objects and works until `stop`. */
  start(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload>;
}

export interface RunningWorkload {
  /** Call it after `stop`, when faults have ended. Waits for the cluster to finish its work. Resolves with what is wrong. */
  finish(): Promise<readonly string[]>;
}
