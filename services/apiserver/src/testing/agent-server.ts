import { createServer, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Activities, systemClock } from '@gantry/base';
import { toGrpcFailure } from '@gantry/client';
import { type GrpcService, grpcServer, silentLogger } from '@gantry/service';
import { fixedTls, type TlsMaterial } from '@gantry/tls';
import { createTestPki } from './test-pki.ts';

type OnUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** The gRPC server of the agent of Node `node-a`. */
export interface AgentServer extends AsyncDisposable {
  readonly port: number;
  /** The TLS material of an API server that calls the agent. */
  readonly client: TlsMaterial;
}

/**
 * Starts the server of an agent on 127.0.0.1. It runs until it is disposed. `onUpgrade` handles requests for other protocols, which use
 * HTTP/1.1.
 */
export async function startAgentServer(agent: GrpcService, onUpgrade?: OnUpgrade): Promise<AgentServer> {
  const pki = await createTestPki(systemClock.now());
  const serving = await pki.issue('system:node:node-a', ['system:nodes'], ['node-a']);
  const http = createServer();
  if (onUpgrade !== undefined) http.on('upgrade', onUpgrade);
  const listening = Promise.withResolvers<number>();
  const stopping = new AbortController();
  const server = grpcServer({
    tls: fixedTls(serving),
    http: (socket) => http.emit('connection', socket),
    address: '127.0.0.1:0',
    services: [agent],
    clock: systemClock,
    activities: new Activities(systemClock),
    logger: silentLogger,
    toGrpcError: toGrpcFailure,
    onListening: listening.resolve,
  });
  const running = server.run(stopping.signal).then(() => server.close?.());
  return {
    port: await listening.promise,
    client: await pki.issue('system:apiserver', ['gantry:apiservers']),
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}
