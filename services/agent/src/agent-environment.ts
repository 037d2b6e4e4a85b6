import type { Activities, Clock, Random } from '@gantry/base';
import type { Logger, Metrics } from '@gantry/service';
import type { AgentConfig } from './config.ts';
import type { DockerRuntime } from './docker/docker-runtime.ts';
import type { EnginePrivilege } from './runtime/engine.ts';

/** The parts of an agent that depend on the process: settings, engine connection, time and logging. */
export interface AgentEnvironment {
  readonly config: AgentConfig;
  /** Connects to the engine. `privilege` is read at each create, since it is known only after a first connection. */
  readonly connect: (privilege: () => EnginePrivilege) => DockerRuntime;
  readonly clock: Clock;
  readonly random: Random;
  /** What the agent does, for reports of stalls. */
  readonly activities: Activities;
  readonly metrics: Metrics;
  readonly logger: Logger;
}
