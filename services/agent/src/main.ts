/**
 * The agent makes one node of the cluster: it runs the pods that are bound to its Node as containers of a Docker engine.
 * It does the kubelet's work; the control plane and kubectl are its users. Folders, from the lowest layer:
 *
 * - `runtime`: the port to a container runtime, labels, errors. `docker` and `hollow` (in memory) implement it
 * - `files`: files and folders that may be gone, or that a pod may change meanwhile
 * - `spec`: a pod's spec as the runtime takes it, one file per group of fields
 * - `sources`: what is read from the API: pods, ConfigMaps, Secrets, tokens
 * - `mounts`: opens what pods name in their volumes without following links, and mounts it where the engine sees it
 * - `probes`, `volumes`: one file per type of probe and of volume
 * - `plan`: the next actions for a pod, pure; `status`: its status, pure but for the reporter
 * - `eviction`: what the node is short of, and which pods it evicts
 * - `images`: pulls, credentials of pulled images, removal of unused images
 * - `static-pods`: static pods, and their mirrors in the API
 * - `pods`: one worker per pod, which observes, plans and acts
 * - `identity`, `node`: this agent's name and certificates, its Node and heartbeat
 * - `custodian`: cleans up for the dead agents of this host
 * - `forwarders`: containers that lead from the host's loopback to load balancers, on Docker Desktop
 * - `logs`, `usage`, `streams`: what API servers ask of a node: logs, what its containers use, exec, attach and port-forward
 * - `endpoints`: the kubelet's HTTP endpoints, which tools use through the node's proxy
 *
 * The files beside this one wire them together, in the order of `start` of `agent.ts`.
 */
import { Activities, systemClock, systemRandom } from '@gantry/base';
import { createLogger, createMetrics, eventLoopWatch, type GroupOutcome, runGroup, runMain } from '@gantry/service';
import { agentMember } from './agent.ts';
import { healthMember } from './agent-server.ts';
import { readAgentConfig, readJoinConfig } from './config.ts';
import { connectDocker } from './docker/docker-runtime.ts';
import { joinHost } from './join-host.ts';

/** For the engine, and for each step of `joinHost`, which has a limit of its own. */
const JOIN_MS = 300_000;

await runMain(async () => {
  if (process.argv[2] === 'join') return await runJoin();
  const config = readAgentConfig();
  const logger = createLogger({ service: 'agent', level: config.logLevel });
  const metrics = createMetrics();
  const requests = metrics.histogram('gantry_engine_request_seconds', 'Time of requests to the engine', ['call']);
  const warn = (message: string) => logger.warn({}, message);
  const environment = {
    config,
    connect: (privilege: Parameters<typeof connectDocker>[1]) =>
      connectDocker(config.dockerSocket, privilege, systemClock, warn, {
        cgroupDir: config.cgroupDir,
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

/** `join`: registers this host and prints what it got, as one line of JSON. */
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
