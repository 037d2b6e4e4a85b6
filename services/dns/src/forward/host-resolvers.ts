import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { type Clock, errorMessage, pause } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';

interface HostResolversOptions {
  /** The mounted resolv.conf of the host. */
  readonly hostFile: string;
  /** The container's own resolv.conf. */
  readonly containerFile: string;
  /** Whether an address belongs to this cluster's DNS. */
  readonly isOwn: (address: string) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

const EVERY_MS = 2000;

/** The host's resolvers. Their files are read again continuously. */
export class HostResolvers {
  readonly #options: HostResolversOptions;
  #servers: readonly string[] = [];

  constructor(options: HostResolversOptions) {
    this.#options = options;
  }

  /** Returns the servers in the order in which they are asked. Empty if there are none. */
  servers(): readonly string[] {
    return this.#servers;
  }

  /** Reads the files once. A missing or unreadable file gives no server. */
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
   * Reads the files until the signal is aborted. Ends by itself if the host's file was replaced by another one. A mount shows the old
   * file forever, and only a restart of the container mounts the new one.
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

/** Whether no name refers to the mounted file any more. */
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

/** resolv.conf(5): more servers than this are ignored. */
const MAX_SERVERS = 3;

/** Returns the addresses of the servers in a resolv.conf, in order. */
export function nameServers(text: string): readonly string[] {
  const servers = text.split('\n').flatMap((line) => {
    const [keyword, address = ''] = line.trim().split(/\s+/);
    return keyword === 'nameserver' && isIP(address) !== 0 ? [address] : [];
  });
  return servers.slice(0, MAX_SERVERS);
}

/**
 * Returns the servers to forward to: the host's servers, without its own loopback, which a container cannot reach, and without this
 * cluster's DNS, which would be asked in a circle. If none is left, returns the container's servers. The engine's server is one of them,
 * and it forwards to the host's servers.
 */
export function forwardServers(
  hostFile: string,
  containerFile: string,
  isOwn: (address: string) => boolean,
): readonly string[] {
  const ofHost = nameServers(hostFile).filter((address) => !isLocal(address) && !isOwn(address));
  return ofHost.length > 0 ? ofHost : nameServers(containerFile).filter((address) => !isOwn(address));
}

function isLocal(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || address === '0.0.0.0' || address === '::';
}
