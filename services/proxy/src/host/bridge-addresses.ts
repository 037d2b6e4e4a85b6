import { type Clock, ControlLoop, errorMessage, Signal } from '@gantry/base';
import type { AddressRange } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import { planAddresses } from '../rules/host-addresses.ts';
import { ProgramError, runProgram } from './run-program.ts';

const RECHECK_MS = 5000;

interface BridgeAddressesOptions {
  /** The bridge of the pods. */
  readonly device: string;
  /** All addresses on the bridge within this range are ours. */
  readonly range: AddressRange;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Keeps the addresses of Nodes and load balancers on the pods' bridge, in the host's namespace, even if other programs remove them. */
export class BridgeAddresses {
  readonly #options: BridgeAddressesOptions;
  readonly #changed = new Signal();
  /** Undefined until the wanted addresses are known. Until then the present addresses stay. */
  #wanted: ReadonlySet<string> | undefined;

  constructor(options: BridgeAddressesOptions) {
    this.#options = options;
  }

  /** Keeps exactly these addresses from now on. Does not wait. */
  keep(addresses: ReadonlySet<string>): void {
    this.#wanted = addresses;
    this.#changed.notify();
  }

  /** Runs until the signal is aborted. The bridge may be created later, and may be created again. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    let reported = '';
    await new ControlLoop({
      round: async () => {
        if (this.#wanted !== undefined) await ensureAddresses(this.#options, this.#wanted, signal);
        reported = '';
      },
      work: this.#changed,
      intervalMs: RECHECK_MS,
      onError: (error) => {
        const reason = errorMessage(error);
        if (reason === reported) return;
        reported = reason;
        logger.warn({ reason }, 'Nodes and load balancers are not reached: their addresses are missing');
      },
      clock,
    }).run(signal);
  }
}

/** Removes all of the addresses. A missing bridge has none. */
export async function removeBridgeAddresses(
  options: Pick<BridgeAddressesOptions, 'device' | 'range'>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await ensureAddresses(options, new Set(), signal);
  } catch (error) {
    if (!(error instanceof ProgramError) || !/does not exist|Cannot find device/.test(error.message)) throw error;
  }
}

async function ensureAddresses(
  { device, range }: Pick<BridgeAddressesOptions, 'device' | 'range'>,
  wanted: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  const listing = await runProgram('ip', ['-o', '-4', 'address', 'show', 'dev', device], signal);
  const lines = planAddresses(listing, { device, wanted, range });
  if (lines.length > 0) await runProgram('ip', ['-batch', '-'], signal, `${lines.join('\n')}\n`);
}

/** `gp` and the pod's address in hexadecimal. services/agent/src/docker/pod-links.ts sets these names. */
const POD_PORT = /^\d+: (gp[0-9a-f]{8})[@:]/;

/**
 * Removes the pods' ports from a bridge that will be removed. A port disappears with its pod's network namespace. The namespace outlives
 * the pod's processes while their connections still wait for answers. Without this the host would keep the port for minutes.
 */
export async function removePodPorts(bridge: string, signal: AbortSignal): Promise<void> {
  const find = async () => podPortsOf(await runProgram('ip', ['-o', 'link', 'show'], signal), bridge);
  const ports = await find();
  if (ports.length === 0) return;
  try {
    const lines = ports.map((port) => `link delete ${port}\n`);
    await runProgram('ip', ['-force', '-batch', '-'], signal, lines.join(''));
  } catch (error) {
    // Some ports may have disappeared by themselves.
    if ((await find()).length > 0) throw error;
  }
}

/** Returns the names of a bridge's pod ports from the output of `ip -o link show`. */
export function podPortsOf(listing: string, bridge: string): readonly string[] {
  return listing.split('\n').flatMap((line) => {
    const [, name] = POD_PORT.exec(line) ?? [];
    return name !== undefined && line.includes(` master ${bridge} `) ? [name] : [];
  });
}
