/** A worker thread with many clients: open anonymous connections, and concurrent lists. `list` starts the lists; it reports their codes. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import { connect, createSecureContext, type SecureContext } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';

/** The options of a crowd. */
export interface CrowdData {
  readonly port: number;
  readonly ca: Uint8Array;
  readonly cert: Uint8Array;
  readonly key: Uint8Array;
  readonly connections: number;
  readonly clients: number;
  readonly path: string;
}

const { port, ca, cert, key, connections, clients, path } = workerData as CrowdData;
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
const anonymous = createSecureContext({ ca: asBuffer(ca) });
const known = createSecureContext({ ca: asBuffer(ca), cert: asBuffer(cert), key: asBuffer(key) });

function stand(): Promise<unknown> {
  const socket = connect({ host: '127.0.0.1', port, secureContext: anonymous });
  socket.on('error', () => undefined); // The server may close the connection.
  return new Promise((resolve) => {
    socket.once('secureConnect', resolve);
    socket.once('close', resolve);
  });
}

async function list(): Promise<number> {
  const options: https.RequestOptions & { readonly secureContext: SecureContext } = {
    host: '127.0.0.1',
    port,
    path,
    secureContext: known,
    agent: false,
  };
  const request = https.get(options);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response.statusCode ?? 0;
}

await Promise.all(Array.from({ length: connections }, stand));
parentPort?.postMessage('standing');
parentPort?.once('message', () => {
  Promise.all(Array.from({ length: clients }, list)).then(
    (codes) => parentPort?.postMessage(codes),
    (error: unknown) => {
      throw error;
    },
  );
});
