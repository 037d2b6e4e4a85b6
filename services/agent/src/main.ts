/**
 * The agent makes one node of the cluster: it runs the pods that are bound to its Node as containers of a Docker engine. It does the
 * kubelet's work; the control plane and kubectl use it. Folders, from the lowest layer:
 *
 * - `runtime`: the port to a container runtime, labels, errors. `docker` and `hollow` (in memory) implement it
 * - `files`: files and folders that may not exist, or that a pod may change at the same time
 * - `spec`: translates a pod's spec for the runtime, one file per group of fields
 * - `sources`: data from the API: pods, ConfigMaps, Secrets, tokens
 * - `mounts`: opens paths in volumes without following links, and mounts them where the engine sees them
 * - `probes`, `volumes`: one file per type of probe and of volume
 * - `plan`: the next actions for a pod, pure; `status`: its status, pure but for the reporter
 * - `eviction`: node pressure, and which pods the node evicts
 * - `images`: pulls, credentials of pulled images, removal of unused images
 * - `static-pods`: static pods, and their mirrors in the API
 * - `pods`: one worker per pod, which observes, plans and acts
 * - `identity`, `node`: this agent's name and certificates, its Node and heartbeat
 * - `custodian`: cleans up for the dead agents of this host
 * - `forwarders`: containers that forward ports of the host's loopback to load balancers, on Docker Desktop
 * - `logs`, `usage`, `streams`: requests of API servers to a node: logs, usage of containers, exec, attach and port-forward
 * - `endpoints`: the kubelet's HTTP endpoints, which tools use through the node's proxy
 *
 * The files beside this one connect them, in the order of `start` in `agent.ts`.
 */
import { Activities, systemClock, systemRandom } from '@gantry/base';
import { createLogger, createMetrics, eventLoopWatch, type GroupOutcome, runGroup, runMain } from '@gantry/service';
import { agentMember } from './agent.ts';
import { healthMember } from './agent-server.ts';
import { readAgentConfig, readJoinConfig } from './config.ts';
import { connectDocker } from './docker/docker-runtime.ts';
import { engineRequests } from './meters.ts';
import { readMachineStart } from './node/machine-start.ts';
import { joinHost } from './join-host.ts';

/** The time limit for the engine and all steps of `joinHost`, each of which has its own limit. */
const JOIN_MS = 300_000;

await runMain(async () => {
  if (process.argv[2] === 'join') return await runJoin();
  const config = readAgentConfig();
  const logger = createLogger({ service: 'agent', level: config.logLevel });
  const metrics = createMetrics();
  const requests = engineRequests(metrics);
  const warn = (message: string) => logger.warn({}, message);
  const machineStart = await readMachineStart();
  const environment = {
    config,
    machineStart,
    connect: (privilege: Parameters<typeof connectDocker>[1]) =>
      connectDocker(config.dockerSocket, privilege, systemClock, warn, {
        cgroupDir: config.cgroupDir,
        machineStart,
        observe: (call, seconds) => requests.observe(seconds, { call }),
      }),
    clock: systemClock,
    random: systemRandom,
    activities: new Activities(systemClock),
    metrics,
    logger,
  };
  const probe = connectDocker(config.dockerSocket, () => 'no-sys-resource', systemClock, warn);
  return runGroup(
    [
      eventLoopWatch(environment),
      healthMember((signal) => probe.engine.ping(signal), metrics),
      agentMember(environment),
    ],
    { clock: systemClock, logger },
  );
});

/** `join`: registers this host and prints the result as one line of JSON. */
async function runJoin(): Promise<GroupOutcome> {
  const config = readJoinConfig();
  const logger = createLogger({ service: 'join', level: config.logLevel });
  const runtime = connectDocker(
    config.dockerSocket,
    () => 'no-sys-resource',
    systemClock,
    (message) => logger.warn({}, message),
  );
  const stop = AbortSignal.timeout(JOIN_MS);
  const joined = await joinHost(
    { config, engine: runtime.engine, clock: systemClock, random: systemRandom, logger },
    stop,
  );
  process.stdout.write(`${JSON.stringify(joined)}\n`);
  return { kind: 'signal', signal: 'SIGTERM', stop: 'orderly' };
}
