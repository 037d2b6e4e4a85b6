import type { Dice } from '@gantry/controller-runtime/testing';
import { AUTOSCALED } from './kind-contents.ts';

/** The workloads whose pods Services select. */
export const SERVED = [AUTOSCALED, AUTOSCALED, 'statefulset-1', 'daemonset-1', 'replicaset-1'];

/** One or two ports of a Service. */
export function servicePorts(dice: Dice): readonly object[] {
  const http = { name: 'http', port: 80, targetPort: dice.pick([8080, 8081]), protocol: 'TCP' };
  return dice.chance(0.5) ? [http] : [http, { name: 'admin', port: 9090, targetPort: 9090, protocol: 'TCP' }];
}

/** Addresses and ports that a user writes into Endpoints. With `least` 0 there may be none. */
export function userSubsets(dice: Dice, least: 0 | 1): readonly object[] {
  return Array.from({ length: dice.between(least, 2) }, () => ({
    addresses: [userAddress(dice), userAddress(dice)].filter(isFirst),
    ...(dice.chance(0.3) ? { notReadyAddresses: [{ ip: `192.0.2.${dice.between(100, 103)}` }] } : {}),
    ports: userPorts(dice),
  }));
}

function userAddress(dice: Dice): { readonly ip: string } {
  return { ip: dice.pick(['192.0.2.1', '192.0.2.2', '192.0.2.3', '2001:db8::1', '2001:db8::2']) };
}

function isFirst({ ip }: { readonly ip: string }, index: number, all: readonly { readonly ip: string }[]): boolean {
  return all.findIndex((other) => other.ip === ip) === index;
}

function userPorts(dice: Dice): readonly object[] {
  const http = { name: 'http', port: dice.pick([8080, 8081]), protocol: 'TCP' };
  return dice.chance(0.6) ? [http] : [http, { name: 'admin', port: 9090, protocol: 'TCP' }];
}
