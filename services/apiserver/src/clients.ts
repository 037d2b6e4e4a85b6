import type { EventEmitter } from 'node:events';
import { untilAborted } from '@gantry/base';
import type { GroupMember } from '@gantry/service';

/** A server that can end its connections, as `releaseConnections` of HttpsServer. */
interface Server {
  releaseConnections(): void;
}

/** The clients of this process's servers. */
export class Clients {
  servers: { readonly grpc: Server; readonly rest: Server } | undefined;
  #watches = new AbortController();

  /** Ends the watches of REST clients that are open now. */
  get watchesEnd(): AbortSignal {
    return this.#watches.signal;
  }

  /** Ends the watches, and each connection after its running responses. */
  release(): void {
    this.servers?.grpc.releaseConnections();
    this.#releaseRest();
  }

  /**
   * Releases the clients of REST at SIGWINCH. `up` sends it before it replaces the load balancer, which cuts connections in the middle of their
   * requests. A process of a release that does not know this signal ignores it.
   */
  member(signals: EventEmitter): GroupMember {
    return {
      name: 'release-of-clients',
      run: async (signal) => {
        const release = () => this.#releaseRest();
        signals.on('SIGWINCH', release);
        await untilAborted(signal);
        signals.off('SIGWINCH', release);
      },
    };
  }

  #releaseRest(): void {
    const ended = this.#watches;
    this.#watches = new AbortController();
    this.servers?.rest.releaseConnections();
    ended.abort();
  }
}
