import Docker from 'dockerode';
import type { Clock } from '@gantry/base';
import type { AgentContainers } from '../runtime/agent-containers.ts';
import type { EnginePrivilege } from '../runtime/engine.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { dockerAgentContainers } from './docker-agent-containers.ts';
import { dockerContainers } from './docker-containers.ts';
import { dockerEngine } from './docker-engine.ts';
import { dockerImages } from './docker-images.ts';
import { dockerLogs } from './docker-logs.ts';
import { DockerObserver } from './docker-observer.ts';
import { dockerSandboxes } from './docker-sandboxes.ts';
import { EngineCalls } from './engine-calls.ts';

/** A Docker engine as a container runtime, and the agents' containers that it runs. */
export interface DockerRuntime extends Runtime {
  readonly agents: AgentContainers;
}

/**
 * Uses unversioned paths, which the engine serves with its newest API: works with API 1.41 and later. Deadlines of calls are on
 * `clock`.
 */
export function connectDocker(socketPath: string, privilege: () => EnginePrivilege, clock: Clock): DockerRuntime {
  const calls = new EngineCalls(new Docker({ socketPath }), clock);
  return {
    sandboxes: dockerSandboxes(calls),
    containers: dockerContainers(calls, privilege),
    images: dockerImages(calls),
    observer: new DockerObserver(calls),
    logs: dockerLogs(calls),
    engine: dockerEngine(calls),
    agents: dockerAgentContainers(calls),
  };
}
