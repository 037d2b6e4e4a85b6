// Runs in a pod: measures ways to one server in turns, and writes a line of JSON for each round of each. Arguments: DURATION_MS ROUNDS ADDRESS...
import { Agent, get } from 'node:http';
import { connect } from 'node:net';

const [durationMs = 0, rounds = 0] = process.argv.slice(2, 4).map(Number);
const targets = process.argv.slice(4);
const AT_ONCE = 16;
const CHUNK = Buffer.alloc(2 ** 18);

/** Requests a second, by so many clients at once. */
async function requests(host: string, keepAlive: boolean): Promise<number> {
  const agent = new Agent({ keepAlive, maxSockets: AT_ONCE });
  const start = performance.now();
  let done = 0;
  const client = async () => {
    while (performance.now() - start < durationMs) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const request = get({ host, port: 8080, agent }, (response) => response.on('end', resolve).resume());
      request.on('error', reject);
      await promise;
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  agent.destroy();
  return (done * 1000) / (performance.now() - start);
}

/** Bytes a second over one connection. */
async function bytes(host: string): Promise<number> {
  const socket = connect({ host, port: 9090 });
  const start = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fill = () => {
    if (performance.now() - start >= durationMs) resolve();
    else if (socket.write(CHUNK)) setImmediate(fill);
  };
  socket.on('error', reject).on('connect', fill).on('drain', fill);
  await promise;
  const perSecond = ((socket.bytesWritten - socket.writableLength) * 1000) / (performance.now() - start);
  socket.resetAndDestroy();
  return perSecond;
}

for (let round = 0; round <= rounds; round++) {
  for (const target of targets) {
    const measured = {
      target,
      requests: await requests(target, true),
      connections: await requests(target, false),
      bytes: await bytes(target),
    };
    // The first round is without compiled code.
    if (round > 0) process.stdout.write(`${JSON.stringify(measured)}\n`);
  }
}
