import type { Activities, Clock, Random } from '@gantry/base';
import type { Logger, Metrics } from '@gantry/service';
import type { AgentConfig } from './config.ts';
import type { DockerRuntime } from './docker/docker-runtime.ts';
import type { EnginePrivilege } from './runtime/engine.ts';

/** The dependencies of an agent on its process: settings, engine connection, time and logging. */
export interface AgentEnvironment {
  readonly config: AgentConfig;
  /** Connects to the engine. `privilege` is read at each creation, because it is known only after a first connection. */
  readonly connect: (privilege: () => EnginePrivilege) => DockerRuntime;
  /** The current run of the machine, as `readMachineStart` returns it. */
  readonly machineStart: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The agent's current activities, for reports of stalls. */
  readonly activities: Activities;
  readonly metrics: Metrics;
  readonly logger: Logger;
}
