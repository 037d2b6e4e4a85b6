import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type Clock, errorMessage, Signal } from '@gantry/base';
import type { Logger } from '@gantry/service';
import { answerHealthCheck, type HealthCheck } from '../rules/health-checks.ts';

/** How long the server waits before it tries a port again that another program has. */
const RETRY_MS = 10_000;
const REQUEST_MS = 5000;
const MAX_CONNECTIONS = 64;

export interface HealthCheckServerOptions {
  readonly podCidr: string;
  readonly isHealthy: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Serves the health checks of Services, each at its own port on all addresses of the host, like kube-proxy. */
export class HealthCheckServer {
  readonly #options: HealthCheckServerOptions;
  readonly #changed = new Signal();
  readonly #servers = new Map<number, Server>();
  #wanted: ReadonlyMap<number, HealthCheck> = new Map();

  constructor(options: HealthCheckServerOptions) {
    this.#options = options;
  }

  /** Serves exactly these checks from now on. Does not wait. */
  keep(checks: readonly HealthCheck[]): void {
    this.#wanted = new Map(checks.map((check) => [check.port, check]));
    this.#changed.notify();
  }

  /** Runs until the signal is aborted. Then all ports are closed. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const [port, server] of this.#servers) if (!this.#wanted.has(port)) this.#close(port, server);
      for (const port of this.#wanted.keys()) if (!this.#servers.has(port)) await this.#open(port);
      const isComplete = this.#servers.size === this.#wanted.size;
      await this.#changed.wait(this.#options.clock, isComplete ? Number.POSITIVE_INFINITY : RETRY_MS, signal);
    }
    for (const [port, server] of this.#servers) this.#close(port, server);
  }

  async #open(port: number): Promise<void> {
    const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
      const check = this.#wanted.get(port);
      if (check === undefined) {
        response.destroy();
        return;
      }
      const { podCidr, isHealthy } = this.#options;
      const address = request.socket.localAddress ?? '';
      const answer = answerHealthCheck(check, { address, podCidr, proxy: isHealthy() ? 'healthy' : 'ill' });
      response.writeHead(answer.code, { ...answer.headers, connection: 'close' }).end(answer.body);
    });
    server.maxConnections = MAX_CONNECTIONS;
    server.listen(port, '0.0.0.0');
    try {
      await once(server, 'listening');
      this.#servers.set(port, server);
    } catch (error) {
      const { namespace, name } = this.#wanted.get(port) ?? {};
      const about = { namespace, name, port, reason: errorMessage(error) };
      this.#options.logger.warn(about, 'a health check is not served: its port is in use');
    }
  }

  #close(port: number, server: Server): void {
    this.#servers.delete(port);
    server.close();
    server.closeAllConnections();
  }
}
