import { type Clock, ControlLoop, errorMessage, type Random, Signal, untilAborted } from '@gantry/base';
import type { Counter, Gauge, Logger } from '@gantry/service';
import { followProgram, runProgram } from '../host/run-program.ts';
import type { HostsPlan, RefusedHost } from './plan-hosts.ts';
import { NOTHING, type ObservedTunnel, planRemoval, planTunnel, type TunnelChange } from './plan-tunnel.ts';
import { readTunnel, readUnderlay } from './read-tunnel.ts';
import { type Tunnel, tunnelRoutes, VXLAN_OVERHEAD } from './tunnel.ts';

/** The kernel reports changes. This interval covers lost reports. */
const RECHECK_MS = 30_000;
const RETRY = { initialMs: 200, maxMs: 10_000 };

export interface TunnelKeeperOptions {
  readonly device: string;
  /** Undefined on a host without an address for other hosts. Such a host has no tunnel. */
  readonly tunnel: Tunnel | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: TunnelMetrics;
}

export interface TunnelMetrics {
  /** The number of other hosts whose pods are reached. */
  readonly hosts: Gauge;
  readonly failures: Counter;
}

/** No interface has the host's address. */
export class HostAddressError extends Error {
  override readonly name = 'HostAddressError';
}

/** Keeps the tunnel to other hosts, with the routes and entries for each of them, even if other programs change it. */
export class TunnelKeeper {
  readonly #options: TunnelKeeperOptions;
  readonly #work = new Signal();
  /** Undefined until the other hosts are known. Until then a present tunnel stays. */
  #wanted: HostsPlan | undefined;
  readonly #reported = new Set<string>();

  constructor(options: TunnelKeeperOptions) {
    this.#options = options;
  }

  /** Keeps exactly these hosts from now on. Does not wait. */
  keep(plan: HostsPlan): void {
    this.#wanted = plan;
    this.#reportRefused(plan.refused);
    this.#work.notify();
  }

  /** Runs until the signal is aborted. The tunnel stays. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, metrics, tunnel } = this.#options;
    await new ControlLoop({
      round: async () => {
        if (this.#wanted === undefined) return Infinity;
        await this.#ensure(this.#wanted, signal);
        return tunnel === undefined ? Infinity : RECHECK_MS;
      },
      work: this.#work,
      retry: RETRY,
      retryOn: 'time',
      onError: (error) => {
        metrics.failures.inc();
        logger.error(
          { reason: errorMessage(error) },
          'pods of other hosts are not reached: the tunnel was not written',
        );
      },
      clock,
      random,
    }).run(signal);
  }

  /**
   * Follows the kernel's reports until the signal is aborted, and looks again after each change of the tunnel or of the host's address. A
   * host without a tunnel starts no program for this. Rejects if it cannot follow the reports any more.
   */
  async follow(signal: AbortSignal): Promise<void> {
    const { device, tunnel } = this.#options;
    if (tunnel === undefined) return await untilAborted(signal);
    const onLine = (line: string) => {
      if (line.includes(device) || line.includes(tunnel.local)) this.#work.notify();
    };
    await followProgram('ip', ['-o', 'monitor', 'link', 'address', 'route', 'neigh'], onLine, signal);
  }

  async #ensure({ hosts }: HostsPlan, signal: AbortSignal): Promise<void> {
    const { device, tunnel, logger, metrics } = this.#options;
    const observed = await observe(device, signal);
    if (tunnel === undefined || hosts.length === 0) {
      await carryOut(planRemoval(observed, device), signal);
      metrics.hosts.set(0);
      return;
    }
    const mtu = await usableMtu(tunnel.local, signal);
    const change = planTunnel(observed, { tunnel, mtu, routes: tunnelRoutes(hosts) });
    await carryOut(change, signal);
    metrics.hosts.set(hosts.length);
    const lines = change.ip.length + change.bridge.length;
    if (lines > 0) logger.info({ device, hosts: hosts.length, lines }, 'routes to other hosts written');
  }

  /** Reports each reason once, until the reason has ended. */
  #reportRefused(refused: readonly RefusedHost[]): void {
    const texts = new Map(refused.map((one) => [`${one.node} ${one.field} ${one.reason}`, one]));
    for (const known of this.#reported) if (!texts.has(known)) this.#reported.delete(known);
    for (const [text, one] of texts) {
      if (this.#reported.has(text)) continue;
      this.#reported.add(text);
      this.#options.logger.warn({ ...one }, 'a Node is ignored for routes to other hosts');
    }
  }
}

/** Removes the tunnel with everything on it. A missing tunnel is not an error. */
export async function removeTunnel(device: string, signal: AbortSignal): Promise<void> {
  await carryOut(planRemoval(await observe(device, signal), device), signal);
}

async function observe(device: string, signal: AbortSignal): Promise<ObservedTunnel> {
  const links = await runProgram('ip', ['-j', '-d', 'link', 'show', 'type', 'vxlan'], signal);
  const nothing = { routes: '', neighbours: '', forwarding: '' };
  const { link } = readTunnel(device, { ...nothing, links });
  if (link === undefined) return NOTHING;
  const [routes, neighbours, forwarding] = await Promise.all([
    runProgram('ip', ['-j', '-4', 'route', 'show', 'dev', device], signal),
    runProgram('ip', ['-j', '-4', 'neighbour', 'show', 'dev', device, 'nud', 'permanent'], signal),
    runProgram('bridge', ['-j', 'fdb', 'show', 'dev', device], signal),
  ]);
  return readTunnel(device, { links, routes, neighbours, forwarding });
}

async function usableMtu(address: string, signal: AbortSignal): Promise<number> {
  const listing = await runProgram('ip', ['-j', '-4', 'address', 'show', 'to', `${address}/32`], signal);
  const underlay = readUnderlay(listing);
  if (underlay === undefined) throw new HostAddressError(`no interface of this host has the address ${address}`);
  return underlay.mtu - VXLAN_OVERHEAD;
}

/** Runs one batch of each program. A refused line does not keep the other lines from being run. */
async function carryOut({ ip, bridge }: TunnelChange, signal: AbortSignal): Promise<void> {
  if (ip.length > 0) await runProgram('ip', ['-force', '-batch', '-'], signal, `${ip.join('\n')}\n`);
  if (bridge.length > 0) await runProgram('bridge', ['-force', '-batch', '-'], signal, `${bridge.join('\n')}\n`);
}
