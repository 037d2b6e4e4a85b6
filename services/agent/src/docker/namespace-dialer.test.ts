import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@gantry/base';
import { freePort } from '@gantry/base/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { NamespaceDialer } from './namespace-dialer.ts';

/** Uses up the descriptors of its process, as hostile pods and clients might, and then asks for a connection. */
const SCRIPT = `
import { openSync } from 'node:fs';
import { systemClock } from '@gantry/base';
import { freePort } from '@gantry/base/testing';
import { NamespaceDialer } from '${new URL('namespace-dialer.ts', import.meta.url).pathname}';
const dialer = new NamespaceDialer(systemClock);
try {
  for (;;) openSync('/dev/null');
} catch {
  for (let i = 0; i < 2; i++) {
    const failure = await dialer
      .connect({ key: 'pod', pid: process.pid, verify: async () => {} }, 80, AbortSignal.timeout(10_000))
      .catch((error) => error);
    process._rawDebug(failure.code);
  }
}
`;

it('fails where no process can be started, and ends no other', async () => {
  const node = `exec '${process.execPath}' --conditions=gantry-source --input-type=module -e "$0"`;
  const { stderr } = await promisify(execFile)('sh', ['-c', `ulimit -n 64; ${node}`, SCRIPT], {
    cwd: import.meta.dirname,
  });
  expect(stderr).toBe('ConnectFailed\nConnectFailed\n');
});

it('hands no connection out before it is known whose network was entered', async () => {
  enterNothing();
  const server = createServer((socket) => {
    // The first connection is reset.
    socket.on('error', () => undefined);
    socket.end('hello');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const dialer = new NamespaceDialer(systemClock);
  let asked = 0;
  const connect = (verify: () => Promise<void>) => {
    const counted = () => {
      asked++;
      return verify();
    };
    return dialer.connect({ key: 'pod', pid: process.pid, verify: counted }, port, AbortSignal.timeout(30_000));
  };
  await expect(connect(() => Promise.reject(new RangeError('another process')))).rejects.toThrow('another process');
  for (let count = 0; count < 2; count++) {
    const socket = await connect(() => Promise.resolve());
    expect((await socket.toArray()).toString()).toBe('hello');
  }
  // Asked once for each helper. The first helper is not used again.
  expect(asked).toBe(2);
});

it('says of a port without a listener what IPv4 says of it', async () => {
  enterNothing();
  const port = await freePort();
  const pod = { key: 'pod', pid: process.pid, verify: () => Promise.resolve() };
  await expect(new NamespaceDialer(systemClock).connect(pod, port, AbortSignal.timeout(30_000))).rejects.toThrow(
    `connect ECONNREFUSED 127.0.0.1:${port}`,
  );
});

/** Enters no namespace until the end of the test, because that needs rights that a test does not have. */
function enterNothing(): void {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-nsenter-'));
  writeFileSync(join(folder, 'nsenter'), '#!/bin/sh\nshift 2\nexec "$@"\n', { mode: 0o755 });
  vi.stubEnv('PATH', `${folder}:/usr/bin:/bin`);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
}
