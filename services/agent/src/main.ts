import { Activities, systemClock, systemRandom } from '@gantry/base';
import { createLogger, createMetrics, eventLoopWatch, runGroup, runMain } from '@gantry/service';
import { agentMember } from './agent.ts';
import { healthMember } from './agent-server.ts';
import { readAgentConfig } from './config.ts';
import { connectDocker } from './docker/docker-runtime.ts';

await runMain(async () => {
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
