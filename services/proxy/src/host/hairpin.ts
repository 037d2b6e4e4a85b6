import { anySignal } from '@gantry/base';
import type { Logger } from '@gantry/service';
import { followProgram, ProgramError, runProgram } from './run-program.ts';

const PORT = /^(\d+): ([^@:\s]+)[@:].*? master (\S+)/;
const GONE = /^Deleted (\d+): /;

/**
 * The ports of a bridge that were seen for the first time in a line of `ip -o link` or `ip -o monitor link`, so that each is set once:
 * setting a port is itself a change that `ip monitor` reports.
 */
export class BridgePorts {
  readonly #bridge: string;
  readonly #known = new Set<string>();

  constructor(bridge: string) {
    this.#bridge = bridge;
  }

  /** The name of the port in the line, when it is new on the bridge. */
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
 * Lets every port of the pods' bridge send packets back to where they came from: a pod that reaches itself through a Service gets its
 * own packets. Follows the kernel's reports of new ports until the signal is aborted; rejects with the first failure, once the program
 * that it follows has ended.
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
  // Ports that come between the listing and the first report are found by listing after the monitor has started.
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
    // Gone since it was reported.
    if (!(error instanceof ProgramError)) throw error;
    logger.debug({ port, reason: error.message }, 'a port was not set');
  }
}
