import Docker from 'dockerode';
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

/** A Docker engine as a container runtime, and the agents' containers that it runs. */
export interface DockerRuntime extends Runtime {
  readonly agents: AgentContainers;
}

/** Uses unversioned paths, which the engine serves with its newest API: works with API 1.41 and later. */
export function connectDocker(socketPath: string, privilege: () => EnginePrivilege): DockerRuntime {
  const docker = new Docker({ socketPath });
  return {
    sandboxes: dockerSandboxes(docker),
    containers: dockerContainers(docker, privilege),
    images: dockerImages(docker),
    observer: new DockerObserver(docker),
    logs: dockerLogs(docker),
    engine: dockerEngine(docker),
    agents: dockerAgentContainers(docker),
  };
}
