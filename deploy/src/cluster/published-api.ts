import { CommandError } from '../machine/command-error.ts';
import type { ServiceContainer } from './compose.ts';

/** The service of the overlay `hosts` by which agents of other machines reach the API. */
const GATEWAY = 'agent-gateway';

/**
 * CommandError where other machines do not reach the API of the cluster with these containers: the cluster may have an address of the
 * host without the overlay.
 */
export function requirePublishedApi(containers: readonly ServiceContainer[], hostAddress: string): void {
  const states = containers.filter(({ service }) => service === GATEWAY).map(({ state }) => state);
  if (states.includes('running')) return;
  const why = states.length === 0 ? 'has no container' : `is ${states.join(', ')}, not running`;
  const address = hostAddress === '' ? '<an IPv4 address of this machine>' : hostAddress;
  throw new CommandError(
    `the API of this cluster is not published for other machines: the service ${GATEWAY} ${why}`,
    `GANTRY_OVERLAYS=hosts GANTRY_HOST_ADDRESS=${address} npm run up`,
  );
}
