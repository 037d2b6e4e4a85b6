import type { Clock, Random } from '@gantry/base';
import type { Logger } from '@gantry/service';
import type { AgentConfig } from './config.ts';
import type { DockerRuntime } from './docker/docker-runtime.ts';
import type { EnginePrivilege } from './runtime/runtime.ts';

/** What the process gives its agent. */
export interface AgentEnvironment {
  readonly config: AgentConfig;
  /** Given what the engine was found to allow. */
  readonly connect: (privilege: () => EnginePrivilege) => DockerRuntime;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}
