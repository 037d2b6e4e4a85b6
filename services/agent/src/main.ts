import { systemClock, systemRandom } from '@gantry/base';
import { createLogger, runGroup, runMain } from '@gantry/service';
import { agentMember } from './agent.ts';
import { healthMember } from './agent-server.ts';
import { readAgentConfig } from './config.ts';
import { connectDocker } from './docker/docker-runtime.ts';

await runMain(async () => {
  const config = readAgentConfig();
  const logger = createLogger({ service: 'agent', level: config.logLevel });
  const environment = {
    config,
    connect: (privilege: Parameters<typeof connectDocker>[1]) =>
      connectDocker(config.dockerSocket, privilege, systemClock),
    clock: systemClock,
    random: systemRandom,
    logger,
  };
  const probe = connectDocker(config.dockerSocket, () => 'no-sys-resource', systemClock);
  return runGroup([healthMember((signal) => probe.engine.ping(signal)), agentMember(environment)], {
    clock: systemClock,
    logger,
  });
});
