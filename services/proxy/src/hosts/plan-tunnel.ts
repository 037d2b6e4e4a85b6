import { VXLAN_PORT } from '../rules/table.ts';
import type { Tunnel, TunnelRoute } from './tunnel.ts';

/** The kernel's state of a tunnel. */
export interface ObservedTunnel {
  /** Undefined if there is no VXLAN device of that name. */
  readonly link: ObservedLink | undefined;
  readonly routes: readonly { readonly destination: string; readonly gateway: string; readonly metric: number }[];
  /** Permanent neighbours. */
  readonly neighbours: readonly { readonly address: string; readonly linkAddress: string }[];
  /** Forwarding entries: packets for `linkAddress` are sent to `remote`. */
  readonly forwarding: readonly { readonly linkAddress: string; readonly remote: string }[];
}

export interface ObservedLink {
  readonly vni: number;
  readonly local: string;
  readonly port: number;
  readonly learning: boolean;
  readonly linkAddress: string;
  readonly mtu: number;
  readonly isUp: boolean;
}

export interface WantedTunnel {
  readonly tunnel: Tunnel;
  /** In bytes. */
  readonly mtu: number;
  readonly routes: readonly TunnelRoute[];
}

/** Lines for `ip -batch` and for `bridge -batch`. They are run in this order. */
export interface TunnelChange {
  readonly ip: readonly string[];
  readonly bridge: readonly string[];
}

export const NOTHING: ObservedTunnel = { link: undefined, routes: [], neighbours: [], forwarding: [] };

/** The metric of our routes. The same route of another program, without a metric, stays and takes precedence. */
const METRIC = 4789;

/** Returns the changes after which the host has the tunnel with exactly the wanted routes, neighbours and forwarding entries. */
export function planTunnel(observed: ObservedTunnel, wanted: WantedTunnel): TunnelChange {
  const { tunnel, mtu, routes } = wanted;
  const { device } = tunnel;
  const isSame = observed.link !== undefined && isSameLink(observed.link, tunnel);
  const present = isSame ? observed : NOTHING;
  const link = [
    ...(observed.link !== undefined && !isSame ? [`link delete dev ${device}`] : []),
    ...(isSame ? [] : [addLink(tunnel, mtu)]),
    ...(present.link !== undefined && present.link.mtu !== mtu ? [`link set dev ${device} mtu ${mtu}`] : []),
    ...(present.link?.isUp === true ? [] : [`link set dev ${device} up`]),
  ];
  return {
    ip: [...link, ...planRoutes(present, device, routes), ...planNeighbours(present, device, routes)],
    bridge: planForwarding(present, device, routes),
  };
}

/** Returns the changes that remove the tunnel. Its routes, neighbours and forwarding entries disappear with it. */
export function planRemoval(observed: ObservedTunnel, device: string): TunnelChange {
  return { ip: observed.link === undefined ? [] : [`link delete dev ${device}`], bridge: [] };
}

/** Ignores the properties that can be changed on an existing link. */
function isSameLink(link: ObservedLink, { vni, local, linkAddress }: Tunnel): boolean {
  return (
    link.vni === vni &&
    link.local === local &&
    link.port === VXLAN_PORT &&
    !link.learning &&
    link.linkAddress === linkAddress
  );
}

function addLink({ device, vni, local, linkAddress }: Tunnel, mtu: number): string {
  const kind = `type vxlan id ${vni} dstport ${VXLAN_PORT} local ${local} nolearning`;
  return `link add name ${device} address ${linkAddress} mtu ${mtu} ${kind}`;
}

function planRoutes({ routes: present }: ObservedTunnel, device: string, wanted: readonly TunnelRoute[]) {
  const key = (destination: string, gateway: string, metric = METRIC) =>
    `${destination} via ${gateway} metric ${metric}`;
  const keys = new Set(wanted.map(({ destination, gateway }) => key(destination, gateway)));
  const known = new Set(present.map(({ destination, gateway, metric }) => key(destination, gateway, metric)));
  const left = present.filter(({ destination, gateway, metric }) => !keys.has(key(destination, gateway, metric)));
  const missing = wanted.filter(({ destination, gateway }) => !known.has(key(destination, gateway)));
  return [
    ...left.map(({ destination, metric }) => `route delete ${destination} dev ${device} metric ${metric}`),
    ...missing.map(
      ({ destination, gateway }) =>
        `route replace ${destination} via ${gateway} dev ${device} onlink proto static metric ${METRIC}`,
    ),
  ];
}

function planNeighbours({ neighbours: present }: ObservedTunnel, device: string, wanted: readonly TunnelRoute[]) {
  const byAddress = new Map(present.map(({ address, linkAddress }) => [address, linkAddress]));
  const gateways = new Set(wanted.map(({ gateway }) => gateway));
  return [
    ...present
      .filter(({ address }) => !gateways.has(address))
      .map(({ address }) => `neighbour delete ${address} dev ${device}`),
    ...wanted
      .filter(({ gateway, linkAddress }) => byAddress.get(gateway) !== linkAddress)
      .map(
        ({ gateway, linkAddress }) => `neighbour replace ${gateway} lladdr ${linkAddress} dev ${device} nud permanent`,
      ),
  ];
}

function planForwarding({ forwarding: present }: ObservedTunnel, device: string, wanted: readonly TunnelRoute[]) {
  const key = (linkAddress: string, remote: string) => `${linkAddress} ${remote}`;
  const keys = new Set(wanted.map(({ linkAddress, remote }) => key(linkAddress, remote)));
  const known = new Set(present.map(({ linkAddress, remote }) => key(linkAddress, remote)));
  const left = present.filter(({ linkAddress, remote }) => !keys.has(key(linkAddress, remote)));
  const missing = wanted.filter(({ linkAddress, remote }) => !known.has(key(linkAddress, remote)));
  return [
    ...left.map(({ linkAddress, remote }) => `fdb delete ${linkAddress} dev ${device} dst ${remote} self`),
    ...missing.map(
      ({ linkAddress, remote }) => `fdb replace ${linkAddress} dev ${device} dst ${remote} self permanent`,
    ),
  ];
}
