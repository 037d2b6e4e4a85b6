import { type Clock, ControlLoop, errorMessage } from '@gantry/base';
import type { Informers } from '@gantry/controller-runtime';
import type { GroupMember, Logger } from '@gantry/service';
import type { FlowCleaner } from './flow-cleaner.ts';
import type { BridgeAddresses } from './host/bridge-addresses.ts';
import { type DockerUserOptions, keepDockerUser } from './host/docker-user.ts';
import { keepHairpin } from './host/hairpin.ts';
import type { HealthCheckServer } from './host/health-check-server.ts';
import type { TunnelKeeper } from './hosts/tunnel-keeper.ts';
import type { Nft } from './nft/nft.ts';
import type { Programmer } from './programmer.ts';

const RESTART_MS = 1000;

interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The tasks of the members and the parts that they need. */
export interface ProxyParts extends DockerUserOptions, Surroundings {
  readonly informers: Informers;
  readonly programmer: Programmer;
  readonly nft: Nft;
  readonly addresses: BridgeAddresses;
  readonly healthChecks: HealthCheckServer;
  readonly flowCleaner: FlowCleaner;
  readonly tunnelKeeper: TunnelKeeper;
}

/** The tasks that run until the process stops, in the order in which they start. */
export function membersOf(parts: ProxyParts): readonly GroupMember[] {
  const { podBridge, logger, informers, programmer, addresses, healthChecks, flowCleaner, tunnelKeeper } = parts;
  return [
    {
      name: 'hairpin',
      run: (signal) => again('ports of the bridge', parts, signal, () => keepHairpin(podBridge, logger, signal)),
    },
    { name: 'docker-user', run: (signal) => keepDockerUser(parts, signal) },
    { name: 'rules', run: (signal) => program(informers, programmer, signal) },
    { name: 'addresses', run: (signal) => addresses.run(signal) },
    { name: 'health-checks', run: (signal) => healthChecks.run(signal) },
    { name: 'tunnel', run: (signal) => tunnelKeeper.run(signal) },
    {
      name: 'tunnel-changes',
      run: (signal) => again('changes of the tunnel', parts, signal, () => tunnelKeeper.follow(signal)),
    },
    { name: 'flows', run: (signal) => flowCleaner.run(signal) },
    { name: 'foreign-changes', run: (signal) => watchForeignChanges(parts, signal) },
  ];
}

async function program(informers: Informers, programmer: Programmer, signal: AbortSignal): Promise<void> {
  try {
    await informers.when(() => informers.synced(), signal);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  await programmer.run(signal);
}

async function watchForeignChanges(parts: ProxyParts, signal: AbortSignal): Promise<void> {
  const { logger, programmer, nft } = parts;
  const onForeignChange = () => {
    logger.warn({}, 'another program has changed the rules: they are written again');
    programmer.replaceAll();
  };
  await again('changes of rules', parts, signal, () => nft.watch(onForeignChange, signal));
}

/** Runs a task that follows a program's reports. Runs it again if the program ends. */
async function again(
  what: string,
  { clock, logger }: Surroundings,
  signal: AbortSignal,
  follow: () => Promise<void>,
): Promise<void> {
  await new ControlLoop({
    round: follow,
    intervalMs: RESTART_MS,
    onError: (error) =>
      logger.warn({ what, reason: errorMessage(error) }, 'the followed program ended, starting it again'),
    clock,
  }).run(signal);
}
