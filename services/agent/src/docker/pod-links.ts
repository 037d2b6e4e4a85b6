import type { FileHandle } from 'node:fs/promises';
import type Docker from 'dockerode';
import { raceAbort } from '@gantry/base';
import { isThere, namesIn, PROCESS_ENDED, readIfThere } from '../files/if-there.ts';
import { AgentError } from '../runtime/agent-error.ts';
import { LABEL } from '../runtime/labels.ts';
import type { GroupReader } from './cgroup-stats.ts';
import { getJson } from './dial.ts';
import type { EngineCalls } from './engine-calls.ts';
import {
  type ContainerProcess,
  NAMESPACE_PATH,
  openNamespace,
  type ProgramEnd,
  runWithNamespace,
} from './process-namespace.ts';
import { findHost, findPodBridge, linkFolder, type PodBridge, portsFolder, UNREACHABLE } from './pod-bridge.ts';

/** The interface name inside the pod, as the engine would choose it. */
const POD_LINK = 'eth0';

const ENDED = 'the sandbox ended before it was connected to its network';
/** A generous time limit, because the commands only wait for the kernel. */
const CONNECT_MS = 30_000;

/**
 * Connects network namespaces of pods to their bridge instead of the engine, because the engine's way takes half of a pod's start time. A
 * pod's link is a veth pair: `eth0` in the pod, and a port of the bridge that is named after the pod's address. The name reserves the
 * address: the kernel allows each name once, for all agents of the host, and removes the pair with the pod's network namespace. Needs
 * CAP_SYS_ADMIN, CAP_SYS_PTRACE and CAP_NET_ADMIN.
 */
export class PodLinks {
  readonly #calls: EngineCalls;
  readonly #groups: Pick<GroupReader, 'hasGroups'>;
  readonly #bridges = new Map<string, Promise<PodBridge | undefined>>();
  /** By bridge name: a process whose network namespace contains the bridge. */
  readonly #hostPids = new Map<string, number>();
  /** Inspections of containers that were found connected. They are valid until the engine reports a change of the container. */
  readonly #connected = new WeakSet<Docker.ContainerInspectInfo>();

  constructor(calls: EngineCalls, groups: Pick<GroupReader, 'hasGroups'>) {
    this.#calls = calls;
    this.#groups = groups;
  }

  /** The bridge of the engine's network; undefined when the engine has to connect the pods. */
  bridge(network: string, signal: AbortSignal): Promise<PodBridge | undefined> {
    const known = this.#bridges.get(network);
    if (known !== undefined) return raceAbort(known, signal);
    const found = this.#findBridge(network);
    this.#bridges.set(network, found);
    found.catch(() => this.#bridges.delete(network));
    return raceAbort(found, signal);
  }

  /**
   * Undefined without control groups: the engine has no statistics for containers that it did not connect, so there would be none at all.
   */
  async #findBridge(network: string): Promise<PodBridge | undefined> {
    if (!(await this.#groups.hasGroups())) return undefined;
    const { signal } = new AbortController();
    const path = `/networks/${network}`;
    const described = await this.#calls.read(signal, (docker, abort) => getJson(docker, { path, abort }));
    return findPodBridge(described as Docker.NetworkInspectInfo);
  }

  /**
   * AgentError 'AddressInUse' when a pod of the host already has the address. `connect` would also detect this, but only after the
   * sandbox was started in vain.
   */
  async checkFree({ assigned, hostPid }: PodBridge, address: string): Promise<void> {
    const link = linkFolder(hostPid, portName(address));
    if (assigned.has(address) || (await isThere(link, UNREACHABLE))) throw addressInUse(address);
  }

  /**
   * Connects the network namespace of a sandbox's process. AgentError 'AddressInUse' when another pod of the host has the address. A
   * namespace that is only partly connected does not count as connected.
   */
  async connect(bridge: PodBridge, { id, pid }: ContainerProcess, address: string): Promise<void> {
    await using namespace = await openNamespace({ id, pid }, 'net');
    if (namespace === undefined) throw new AgentError('Runtime', ENDED);
    const { code, output } = await connectLinks(namespace, bridge, address);
    if (code === 0) return;
    const [inPod, onHost] = await Promise.all([linksOf(pid), linksOf(bridge.hostPid)]);
    // The kernel creates no pair when one of its names exists already.
    if (!inPod.includes(POD_LINK) && onHost.includes(portName(address))) {
      throw addressInUse(address);
    }
    throw new AgentError('Runtime', `the pod's network was not connected: ${output}`);
  }

  /** False for a running sandbox without the link that its labels describe. */
  async isConnected(container: Docker.ContainerInspectInfo): Promise<boolean> {
    const { [LABEL.address]: address = '', [LABEL.bridge]: bridge = '' } = container.Config.Labels;
    if (address === '' || bridge === '' || !container.State.Running) return true;
    if (this.#connected.has(container)) return true;
    const port = portName(address);
    const [inPod, isOnBridge] = await Promise.all([linksOf(container.State.Pid), this.#isOnBridge(bridge, port)]);
    const isConnected = isOnBridge && inPod.includes(POD_LINK) && !inPod.includes(port);
    if (isConnected) this.#connected.add(container);
    return isConnected;
  }

  /**
   * Finding the host takes longer than reading the ports, so a known host process is tried first. It may be outdated, so only a positive
   * result counts.
   */
  async #isOnBridge(bridge: string, port: string): Promise<boolean> {
    const isSeenBy = async (pid: number) => (await namesIn(portsFolder(pid, bridge), UNREACHABLE)).includes(port);
    const known = this.#hostPids.get(bridge);
    if (known !== undefined && (await isSeenBy(known))) return true;
    const host = await findHost(bridge);
    if (host === undefined) return false;
    this.#hostPids.set(bridge, host.hostPid);
    return await isSeenBy(host.hostPid);
  }
}

/** Commands of ip(8): first in the pod's network namespace, then one on the host. */
export interface ConnectCommands {
  readonly inPod: readonly string[];
  readonly onHost: string;
}

/**
 * The port is created directly in the host's namespace, because moving a link to another namespace takes the kernel about 20 ms. It joins
 * the bridge last, so the sandbox does not count as connected before. If a step fails, everything disappears with the pod's namespace.
 */
export function connectCommands({ gateway, prefix, mtu, index, hostPid }: PodBridge, address: string): ConnectCommands {
  const port = portName(address);
  return {
    inPod: [
      `link add name ${port} mtu ${mtu} netns ${hostPid} type veth peer name ${POD_LINK} mtu ${mtu} address ${linkAddress(address)}`,
      'link set lo up',
      `address add ${address}/${prefix} broadcast + dev ${POD_LINK}`,
      `link set ${POD_LINK} up`,
      `route add default via ${gateway}`,
    ],
    onHost: `link set ${port} master if${index} up`,
  };
}

function addressInUse(address: string): AgentError {
  return new AgentError('AddressInUse', `address ${address} already in use`);
}

/** The name of the bridge port for a pod's address. It is unique on a host, where networks share no addresses. */
export function portName(address: string): string {
  return `gp${hex(address)}`;
}

/** The engine's rule: an address always has the same link address, so neighbours never cache a wrong one. */
function linkAddress(address: string): string {
  return `02:42:${hex(address).match(/../g)?.join(':') ?? ''}`;
}

function hex(address: string): string {
  return address
    .split('.')
    .map((part) => Number(part).toString(16).padStart(2, '0'))
    .join('');
}

/** One shell runs both processes, which costs less than starting each from here. The second one runs only if the first succeeded. */
const CONNECT = `host=$1; shift
nsenter --net=${NAMESPACE_PATH} -- ip -batch -
exec nsenter --net="$host" -- ip "$@"`;

/** Creates a pod's links and connects them; stops at the first command that fails. */
function connectLinks(namespace: FileHandle, bridge: PodBridge, address: string): Promise<ProgramEnd> {
  const { inPod, onHost } = connectCommands(bridge, address);
  return runWithNamespace(namespace, {
    command: ['sh', '-ec', CONNECT, 'sh', `/proc/${bridge.hostPid}/ns/net`, ...onHost.split(' ')],
    input: `${inPod.join('\n')}\n`,
    timeoutMs: CONNECT_MS,
  });
}

/** The links in the network namespace of a process; empty once it has ended. */
async function linksOf(pid: number): Promise<readonly string[]> {
  const text = (await readIfThere(`/proc/${pid}/net/dev`, PROCESS_ENDED)) ?? '';
  return [...text.matchAll(/^\s*([^\s:]+):/gm)].map(([, name = '']) => name);
}
