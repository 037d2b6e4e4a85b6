import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** Uses up the descriptors of its process, as hostile pods and clients might, and asks for a connection. */
const SCRIPT = `
import { openSync } from 'node:fs';
import { systemClock } from '@gantry/base';
import { NamespaceDialer } from '${new URL('namespace-dialer.ts', import.meta.url).pathname}';
const dialer = new NamespaceDialer(systemClock);
try {
  for (;;) openSync('/dev/null');
} catch {
  for (let i = 0; i < 2; i++) {
    const failure = await dialer.connect('pod', process.pid, 80, AbortSignal.timeout(10_000)).catch((error) => error);
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
