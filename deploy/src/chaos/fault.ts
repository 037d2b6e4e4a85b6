import type { Random } from '@gantry/base';
import type { HttpClient } from '@gantry/client';
import type { ChaosEngine, Target } from './engine.ts';
import type { UndoStep } from './undo.ts';

/** One fault of a schedule. */
export interface PlannedFault {
  /** `f1`, unique in the schedule. */
  readonly id: string;
  readonly kind: string;
  readonly target: Target;
  /** The other side of a network fault. */
  readonly peer?: Target;
  /** Faults of a round overlap. The next round begins when the cluster is healthy again. */
  readonly round: number;
  /** Milliseconds after the beginning of the round. */
  readonly atMs: number;
  readonly durationMs: number;
  /** In [0, 1): chooses among what is found when the fault starts, such as pods. */
  readonly choice: number;
}

/** `cut scheduler/leader apiserver`. */
export const faultName = ({ kind, target, peer }: Pick<PlannedFault, 'kind' | 'target' | 'peer'>): string =>
  [kind, target, peer].filter((part) => part !== undefined).join(' ');

/** What the planner knows of a kind of fault. */
export interface FaultShape {
  readonly kind: string;
  /** One sentence for `--help` and docs/chaos.md. */
  readonly what: string;
  readonly targets: readonly Target[];
  /** Of network faults. */
  readonly peersOf?: (target: Target) => readonly Target[];
  /** Shortest and longest, in milliseconds; [0, 0] for a fault that ends by itself. */
  readonly durationMs: readonly [number, number];
  /** How often it is chosen, relative to the others. */
  readonly weight: number;
  /** `alone`: no other fault overlaps it. So it is chosen only as the first one of a round. */
  readonly company?: 'alone';
}

/** Where etcd's history ends, because a snapshot was restored. */
export interface HistoryCut {
  /** What was written after it is lost. */
  readonly snapshotRevision: number;
  /** etcd's, when no API server ran any more. */
  readonly lastRevision: number;
  /** When that was, monotonic. */
  readonly stoppedMs: number;
}

/** etcd's history as a campaign records it. */
export interface RecordedHistory {
  /** Waits until it has reached a revision, at all members. */
  untilRecorded(revision: number): Promise<void>;
  /** A snapshot was restored. */
  cut(cut: HistoryCut): void;
}

/** What a fault acts on. */
export interface Scene {
  readonly engine: ChaosEngine;
  readonly fault: PlannedFault;
  /** Seeded by `choice` of the fault. */
  readonly random: Random;
  /** Writes down how to undo what is done next. Call it before acting: the steps are run also after a crash of this process. */
  undoLater(steps: readonly UndoStep[]): Promise<void>;
  /** The cluster's folder for campaigns, on the engine's host. */
  readonly folder: string;
  /** Runs `docker compose` with the cluster's files and settings. */
  compose(args: readonly string[]): Promise<void>;
  /** Throws CommandError if the checkout has changed since `up`. */
  requireUnchanged(): Promise<void>;
  /** Runs a command of the checkout, such as `snapshot save FILE`. */
  command(name: string, args: readonly string[]): Promise<void>;
  /** The record of etcd's history; undefined where there is none. */
  readonly history?: RecordedHistory;
  /** Opens a client of the API. */
  api(): HttpClient;
  /** Replaces the services one after the other by those of another image, or of the cluster's own one. */
  rollTo(image: string | undefined): Promise<void>;
}

/** A kind of fault. */
export interface FaultKind extends FaultShape {
  /** Resolves with a description of what it did once the fault acts. */
  strike(scene: Scene): Promise<string>;
  /** What the fault does at the end of its duration, before its steps are undone. Not done if the user ends the campaign before. */
  finish?(scene: Scene, stop: AbortSignal): Promise<void>;
}

/** The service of a target: `scheduler/leader` is of `scheduler`. */
export const familyOf = (target: Target) => target.split('/')[0] ?? target;
