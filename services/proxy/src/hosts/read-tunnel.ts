import type { ObservedLink, ObservedTunnel } from './plan-tunnel.ts';

/** The output of `ip -j` and `bridge -j` about a tunnel. Each is a JSON list. */
export interface TunnelListings {
  /** The output of `ip -d link show type vxlan`. */
  readonly links: string;
  readonly routes: string;
  /** Permanent neighbours. */
  readonly neighbours: string;
  readonly forwarding: string;
}

/**
 * Reads the kernel's state of the tunnel. `device` is the tunnel's device. An unexpected entry counts as missing, so it is written again.
 */
export function readTunnel(device: string, listings: TunnelListings): ObservedTunnel {
  const routes = entries(listings.routes).map((route) => ({
    destination: text(route['dst']),
    gateway: text(route['gateway']),
    metric: number(route['metric']),
  }));
  const neighbours = entries(listings.neighbours).map((neighbour) => ({
    address: text(neighbour['dst']),
    linkAddress: text(neighbour['lladdr']),
  }));
  const forwarding = entries(listings.forwarding)
    .map((entry) => ({ linkAddress: text(entry['mac']), remote: text(entry['dst']) }))
    .filter(({ remote }) => remote !== '');
  return { link: readLink(device, listings.links), routes, neighbours, forwarding };
}

/** Returns the MTU of the link that has an address, from `ip -j address show to ADDRESS`. Returns undefined if no link has it. */
export function readUnderlay(listing: string): { readonly mtu: number } | undefined {
  const [link] = entries(listing).filter((entry) => text(entry['ifname']) !== '');
  if (link === undefined) return undefined;
  // Packets do not leave through the loopback interface. If it has the address, another interface sends the packets.
  return { mtu: list(link['flags']).includes('LOOPBACK') ? USUAL_MTU : number(link['mtu']) };
}

const USUAL_MTU = 1500;

function readLink(device: string, listing: string): ObservedLink | undefined {
  const link = entries(listing).find((entry) => entry['ifname'] === device);
  if (link === undefined) return undefined;
  const data = member(member(link['linkinfo'])['info_data']);
  return {
    vni: number(data['id']),
    local: text(data['local']),
    port: number(data['port']),
    learning: data['learning'] !== false,
    linkAddress: text(link['address']),
    mtu: number(link['mtu']),
    isUp: list(link['flags']).includes('UP'),
  };
}

type Members = Readonly<Record<string, unknown>>;

/** The programs print an empty text instead of an empty list, and empty members for omitted entries. */
function entries(json: string): readonly Members[] {
  return json.trim() === '' ? [] : list(JSON.parse(json)).map(member);
}

function member(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
