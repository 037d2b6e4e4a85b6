import type { Clock, Random } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import type { EventRecorder } from '@gantry/controller-runtime';
import type { Logger } from '@gantry/service';
import type { Owner } from '../runtime/labels.ts';
import type { EnginePrivilege, Runtime } from '../runtime/runtime.ts';
import type { StatusReporter } from '../status/status-reporter.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';
import type { AddressPool } from './addresses.ts';
import type { ConfigSource } from './environment.ts';
import type { NodeFacts } from './field-values.ts';
import type { PodSource } from './pod-source.ts';
import type { Slots } from './slots.ts';
import type { TruthGate } from './truth-gate.ts';

/** What every pod's worker shares with the others of its node. */
export interface WorkerServices {
  /** `tidy`: for a node whose agent is dead, only pods that are to go are acted on, and nothing is reported. */
  readonly mandate: 'run' | 'tidy';
  readonly owner: Owner;
  readonly facts: NodeFacts;
  readonly privilege: EnginePrivilege;
  readonly podNetwork: string;
  readonly sandboxImage: string;
  readonly baseEnvironment: Readonly<Record<string, string>>;
  readonly runtime: Runtime;
  readonly client: ObjectClient;
  readonly pods: PodSource;
  readonly gate: TruthGate;
  readonly reporter: StatusReporter;
  readonly volumes: PodVolumes;
  readonly config: ConfigSource;
  readonly addresses: AddressPool;
  readonly events: EventRecorder;
  /** Bounds how many containers the engine makes at once. */
  readonly starts: Slots;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}
