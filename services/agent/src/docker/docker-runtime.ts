import Docker from 'dockerode';
import type { Clock } from '@gantry/base';
import type { AgentContainers } from '../runtime/agent-containers.ts';
import type { EnginePrivilege } from '../runtime/engine.ts';
import type { ForwarderRuntime } from '../runtime/forwarders.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { groupReader } from './cgroup-stats.ts';
import { dockerAgentContainers } from './docker-agent-containers.ts';
import { dockerContainers, dockerPauses } from './docker-containers.ts';
import { dockerEngine } from './docker-engine.ts';
import { dockerForwarders } from './docker-forwarders.ts';
import { dockerImageFiles } from './docker-image-files.ts';
import { dockerImages } from './docker-images.ts';
import { dockerImageVolumes } from './docker-image-volumes.ts';
import { dockerLogs } from './docker-logs.ts';
import { DockerObserver } from './docker-observer.ts';
import { dockerSandboxes } from './docker-sandboxes.ts';
import { dockerStats } from './docker-stats.ts';
import { dockerStreams } from './docker-streams.ts';
import { EngineCalls } from './engine-calls.ts';
import { DockerExecs } from './exec.ts';
import { Inspections } from './inspections.ts';
import { ContainerIndex } from './container-index.ts';
import { PodGroups } from './pod-groups.ts';
import { PodLinks } from './pod-links.ts';

/** A Docker engine as a container runtime, with the agents' containers and the forwarders on it. */
export interface DockerRuntime extends Runtime {
  readonly agents: AgentContainers;
  readonly forwarders: ForwarderRuntime;
}

/** The engine's control groups, for a process on its host. */
const CGROUP_FOLDER = '/sys/fs/cgroup';

export interface DockerOptions {
  /** The folder of the engine's control groups; default: the one on the engine's host. */
  readonly cgroupDir?: string;
  /** The current run of the machine, as `readMachineStart` returns it. Absent: restarts of the machine are not noticed. */
  readonly machineStart?: string;
  /** Called after each request. */
  readonly observe?: RequestObserver;
}

/**
 * Uses unversioned paths, which the engine serves with its newest API; supports API 1.41 and later. Deadlines of calls use `clock`.
 * `warn` receives failures that no caller receives.
 */
export function connectDocker(
  socketPath: string,
  privilege: () => EnginePrivilege,
  clock: Clock,
  warn: (message: string) => void,
  { cgroupDir = CGROUP_FOLDER, machineStart = '', observe = () => undefined }: DockerOptions = {},
): DockerRuntime {
  const calls = new EngineCalls(observeRequests(new Docker({ socketPath }), clock, observe), clock);
  const execs = new DockerExecs(calls, clock, warn);
  const inspections = new Inspections(calls);
  const containers = new ContainerIndex();
  const known = { inspections, containers };
  const groups = groupReader(cgroupDir);
  const links = new PodLinks(calls, groups);
  const podGroups = new PodGroups(cgroupDir);
  return {
    sandboxes: dockerSandboxes(calls, known, links, podGroups),
    podGroups,
    containers: dockerContainers(calls, execs, known, privilege, machineStart),
    pauses: dockerPauses(calls, inspections),
    images: dockerImages(calls),
    imageVolumes: dockerImageVolumes(calls, containers),
    imageFiles: dockerImageFiles(calls),
    observer: new DockerObserver(calls, known, links, podGroups, machineStart),
    logs: dockerLogs(calls),
    stats: dockerStats(calls, groups, clock),
    streams: dockerStreams(calls, execs, clock),
    engine: dockerEngine(calls, podGroups),
    agents: dockerAgentContainers(calls),
    forwarders: dockerForwarders(calls),
  };
}

/** Called when a request to the engine has its response or has failed. For a stream, when the response begins. */
type RequestObserver = (call: string, seconds: number) => void;

/** The fixed words in the engine's paths; everything else is an id or a name. */
const WORDS = new Set(
  '_ping archive attach containers create events exec images info json kill logs networks pause prune rename resize start stats stop tag top unpause update version volumes wait'.split(
    ' ',
  ),
);

/** Reports every request of `docker` by method and path, without ids and names, such as `POST /containers/{}/start`. */
function observeRequests(docker: Docker, clock: Clock, observe: RequestObserver): Docker {
  const { modem } = docker;
  const dial = modem.dial.bind(modem);
  modem.dial = (options, callback) => {
    const startedMs = clock.monotonicMs();
    dial(options, (error, result) => {
      observe(requestName(options.method ?? 'GET', options.path), (clock.monotonicMs() - startedMs) / 1000);
      callback?.(error, result);
    });
  };
  return docker;
}

/** A request's method and path, without ids and names. */
export function requestName(method: string, path: string): string {
  const [collection = '', ...rest] = (path.split('?')[0] ?? '').split('/').filter((part) => part !== '');
  const last = rest.at(-1);
  const name = rest.length === 0 || (rest.length === 1 && WORDS.has(rest[0] ?? '')) ? [] : ['{}'];
  const verb = last !== undefined && WORDS.has(last) ? [last] : [];
  return `${method} /${[collection, ...name, ...verb].join('/')}`;
}
