import type Docker from 'dockerode';
import { isThere, PROCESS_ENDED, readIfThere } from '../files/if-there.ts';
import type { SandboxBridge } from './options/sandbox-options.ts';

/** The bridge of a network for pods. */
export interface PodBridge extends SandboxBridge {
  /** Its interface index on the engine's host. */
  readonly index: number;
  /** A process in the host's network namespace, for access to that namespace through /proc. */
  readonly hostPid: number;
  readonly gateway: string;
  /** The length of its prefix in bits. */
  readonly prefix: number;
  readonly mtu: number;
  /** Addresses that the engine had assigned when the bridge was looked up. */
  readonly assigned: ReadonlySet<string>;
}

const MTU_OPTION = 'com.docker.network.driver.mtu';
const NAME_OPTION = 'com.docker.network.bridge.name';
/** The engine's default MTU. */
const MTU = 1500;

/** The bridge of a network. Undefined when this process cannot reach it, or when the network has IPv6 addresses, too. */
export async function findPodBridge(network: Docker.NetworkInspectInfo): Promise<PodBridge | undefined> {
  const { Options: options = {}, IPAM: ipam, Containers: containers = {} } = network;
  const range = ipam?.Config?.[0];
  if (network.Driver !== 'bridge' || network.EnableIPv6 || range?.Subnet === undefined) return undefined;
  const name = options?.[NAME_OPTION] ?? `br-${network.Id.slice(0, 12)}`;
  const host = await findHost(name);
  if (host === undefined) return undefined;
  return {
    name,
    ...host,
    gateway: range.Gateway ?? firstAddress(range.Subnet, range['IPRange']),
    prefix: Number(range.Subnet.split('/')[1]),
    mtu: Number(options?.[MTU_OPTION] ?? MTU),
    kernelIpv6: (await isThere('/proc/sys/net/ipv6')) ? 'present' : 'absent',
    assigned: new Set(Object.values(containers).map(({ IPv4Address: address }) => address.split('/')[0] ?? '')),
  };
}

/**
 * Finds a parent process of this one that has the bridge in its network namespace. An agent's container is a child of a process on the
 * engine's host, which it can see only in the host's process namespace (`pid: host`).
 */
export async function findHost(
  bridge: string,
): Promise<{ readonly hostPid: number; readonly index: number } | undefined> {
  for (let pid = process.pid; pid > 0; pid = await parentOf(pid)) {
    const index = linkIndex((await readIfThere(`/proc/${pid}/net/igmp`, PROCESS_ENDED)) ?? '', bridge);
    if (index !== undefined && (await isThere(portsFolder(pid, bridge), UNREACHABLE))) return { hostPid: pid, index };
  }
  return undefined;
}

/** Also error codes for a process whose file system this one may not enter; the engine connects pods then. */
export const UNREACHABLE = ['ENOENT', 'ENOTDIR', 'ESRCH', 'EACCES', 'EPERM', 'ELOOP'];

/** The folder in which the kernel lists the ports of a bridge, through a process of the host. */
export function portsFolder(hostPid: number, bridge: string): string {
  return `${linkFolder(hostPid, bridge)}/brif`;
}

/** The folder in which the kernel describes a link of the host, through a process of the host. */
export function linkFolder(hostPid: number, link: string): string {
  return `/proc/${hostPid}/root/sys/class/net/${link}`;
}

/** The index of a link in the kernel's list of links with IPv4 addresses. */
export function linkIndex(igmp: string, link: string): number | undefined {
  for (const [, index, name] of igmp.matchAll(/^(\d+)\s+(\S+)\s*:/gm)) if (name === link) return Number(index);
  return undefined;
}

/** The engine's default gateway of a network: the first address that it may assign. */
export function firstAddress(subnet: string, range = subnet): string {
  const [first = ''] = range.split('/');
  if (first !== subnet.split('/')[0]) return first;
  const parts = first.split('.').map(Number);
  return [...parts.slice(0, 3), (parts[3] ?? 0) + 1].join('.');
}

async function parentOf(pid: number): Promise<number> {
  return Number(/^PPid:\s*(\d+)$/m.exec((await readIfThere(`/proc/${pid}/status`, PROCESS_ENDED)) ?? '')?.[1] ?? 0);
}
