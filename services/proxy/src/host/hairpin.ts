import { anySignal } from '@gantry/base';
import type { Logger } from '@gantry/service';
import { followProgram, ProgramError, runProgram } from './run-program.ts';

const PORT = /^(\d+): ([^@:\s]+)[@:].*? master (\S+)/;
const GONE = /^Deleted (\d+): /;

/**
 * Finds the ports of a bridge that appear for the first time in a line of `ip -o link` or `ip -o monitor link`. Each port must be set
 * only once, because `ip monitor` reports the setting as a change too.
 */
export class BridgePorts {
  readonly #bridge: string;
  readonly #known = new Set<string>();

  constructor(bridge: string) {
    this.#bridge = bridge;
  }

  /** Returns the name of the port in the line if it is new on the bridge. */
  take(line: string): string | undefined {
    const gone = GONE.exec(line)?.[1];
    if (gone !== undefined) this.#known.delete(gone);
    const [, index = '', name = '', master = ''] = PORT.exec(line) ?? [];
    if (gone !== undefined || master !== this.#bridge || this.#known.has(index)) return undefined;
    this.#known.add(index);
    return name;
  }
}

/**
 * Lets every port of the pods' bridge send packets back to the port that they came from. A pod that reaches itself through a Service
 * needs this. Follows the kernel's reports of new ports until the signal is aborted. Rejects with the first failure, after the followed
 * program has ended.
 */
export async function keepHairpin(bridge: string, logger: Logger, signal: AbortSignal): Promise<void> {
  const failed = new AbortController();
  const fail = (reason: unknown) => failed.abort(reason);
  using either = anySignal(signal, failed.signal);
  const ports = new BridgePorts(bridge);
  let last: Promise<void> = Promise.resolve();
  const take = (line: string) => {
    const name = ports.take(line);
    if (name !== undefined) last = last.then(() => setHairpin(name, logger, either)).catch(fail);
  };
  // The monitor starts before the listing, so ports that appear in between are found.
  const following = followProgram('ip', ['-o', 'monitor', 'link'], take, either).catch(fail);
  await takePresent(take, either).catch(fail);
  await following;
  await last;
  if (!signal.aborted) failed.signal.throwIfAborted();
}

async function takePresent(take: (line: string) => void, signal: AbortSignal): Promise<void> {
  const listed = await runProgram('ip', ['-o', 'link', 'show', 'type', 'bridge_slave'], signal);
  for (const line of listed.split('\n')) take(line);
}

async function setHairpin(port: string, logger: Logger, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  try {
    await runProgram('ip', ['link', 'set', 'dev', port, 'type', 'bridge_slave', 'hairpin', 'on'], signal);
  } catch (error) {
    if (signal.aborted) return;
    // The port has disappeared since it was reported.
    if (!(error instanceof ProgramError)) throw error;
    logger.debug({ port, reason: error.message }, 'a port was not set');
  }
}
