import { once } from 'node:events';
import { createServer } from 'node:net';
import { threadId } from 'node:worker_threads';

/** Below the ports that kernels give to connections and to listeners that ask for any port, and below node ports. */
const FIRST_PORT = 20_000;
const RANGES = 500;
const PORTS_OF_RANGE = 20;

/** No port of a range is free. */
class NoFreePortError extends Error {
  override readonly name = 'NoFreePortError';
}

/**
 * A port without a listener, for a server that has to be told its port before it starts. Each process and thread has a range of its own:
 * until the server starts, the kernel gives the port to nobody, and neither does this function in another test. It returns each port once.
 */
export const freePort = freePortFrom(FIRST_PORT + ((process.pid * 31 + threadId) % RANGES) * PORTS_OF_RANGE);

/** A `freePort` for the range that begins at a port. */
export function freePortFrom(first: number): (host?: string) => Promise<number> {
  const left = Array.from({ length: PORTS_OF_RANGE }, (_, index) => first + index).values();
  return async (host = '127.0.0.1') => {
    for (let port = left.next(); port.done !== true; port = left.next()) {
      if (await isFree(port.value, host)) return port.value;
    }
    throw new NoFreePortError(`none of the ${PORTS_OF_RANGE} ports from ${first} on is free`);
  };
}

async function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, host), 'listening');
    server.close();
    await once(server, 'close');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}
