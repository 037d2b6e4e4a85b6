// Runs in a pod: tries each address until a connection to its port 80 succeeds, and writes `ADDRESS MILLISECONDS` (Unix time). Arguments: ADDRESS...
import { connect } from 'node:net';

/** Between attempts; one that meets no rule yet is refused at once. */
const EVERY_MS = 2;
const ATTEMPT_MS = 1000;

function attempt(host: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port: 80, timeout: ATTEMPT_MS });
  socket
    .on('connect', () => resolve(true))
    .on('error', () => resolve(false))
    .on('timeout', () => resolve(false));
  return promise.finally(() => socket.destroy());
}

async function untilAnswered(host: string): Promise<void> {
  while (!(await attempt(host))) await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  process.stdout.write(`${host} ${performance.timeOrigin + performance.now()}\n`);
}

process.stdout.write('started\n');
await Promise.all(process.argv.slice(2).map(untilAnswered));
