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
      connectDocker(config.dockerSocket, privilege, systemClock, warn, config.cgroupDir, (call, seconds) =>
        requests.observe(seconds, { call }),
      ),
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
