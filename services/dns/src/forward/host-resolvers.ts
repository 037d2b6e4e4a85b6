import { readFile, stat } from 'node:fs/promises';
import { type Clock, errorMessage, pause } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import { forwardServers } from './resolv-conf.ts';

export interface HostResolversOptions {
  /** The host's resolv.conf, as it is mounted. */
  readonly hostFile: string;
  /** The container's own. */
  readonly containerFile: string;
  /** Whether an address is one of this cluster's DNS. */
  readonly isOwn: (address: string) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

const EVERY_MS = 2000;

/** The host's resolvers, read again all the time. */
export class HostResolvers {
  readonly #options: HostResolversOptions;
  #servers: readonly string[] = [];

  constructor(options: HostResolversOptions) {
    this.#options = options;
  }

  /** In the order in which they are asked; empty when there is none. */
  servers(): readonly string[] {
    return this.#servers;
  }

  /** Reads the files once. A file that is missing or cannot be read names no server. */
  async read(): Promise<void> {
    const { hostFile, containerFile, isOwn, logger } = this.#options;
    const [host, container] = await Promise.all([readText(hostFile), readText(containerFile)]);
    const servers = forwardServers(host.text, container.text, isOwn);
    if (servers.join() === this.#servers.join()) return;
    const failed = [host.failure, container.failure].filter((failure) => failure !== undefined);
    logger.info({ servers, ...(failed.length === 0 ? {} : { failed }) }, 'forwarding to the resolvers of the host');
    this.#servers = servers;
  }

  /**
   * Reads the files until the signal is aborted. Ends by itself when the host's file was replaced by another one: a mount shows the old one
   * for ever, and only a restart of the container mounts the new one.
   */
  member(): GroupMember {
    return {
      name: 'host-resolvers',
      run: async (signal) => {
        while (!signal.aborted) {
          await this.read();
          if (await isReplaced(this.#options.hostFile)) {
            this.#options.logger.info({}, 'the resolv.conf of the host was replaced: restarting to mount the new one');
            return;
          }
          await pause(this.#options.clock, EVERY_MS, signal);
        }
      },
    };
  }
}

/** Whether no name leads to the mounted file any more. */
async function isReplaced(path: string): Promise<boolean> {
  try {
    return (await stat(path)).nlink === 0;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return false;
    throw error;
  }
}

async function readText(path: string): Promise<{ readonly text: string; readonly failure?: string }> {
  try {
    return { text: await readFile(path, 'utf8') };
  } catch (error) {
    return { text: '', failure: errorMessage(error) };
  }
}
