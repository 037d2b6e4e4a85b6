import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { isAgentError } from '../agent-error.ts';
import type { ContainerSpec } from '../containers.ts';
import type { Runtime } from '../runtime.ts';
import type { PodConnection, ProcessOutput, StreamOptions } from '../streams.ts';

/** The parts of a runtime under test that the contract of streams needs. */
interface StreamsUnderTest {
  readonly runtime: () => Runtime;
  readonly processes: (id: string) => Promise<readonly string[]>;
  readonly eventually: (check: () => Promise<boolean>) => Promise<void>;
  readonly kill: (id: string) => Promise<void>;
  /** Runs a container with a shell script. */
  readonly run: (
    script: string,
    change?: Partial<ContainerSpec>,
  ) => Promise<{ readonly id: string; readonly sandboxId: string }>;
}

const signal = new AbortController().signal;
const PLAIN: StreamOptions = { stdout: true, stderr: true, terminal: 'none' };

/** Scripts that an in-memory runtime also supports. */
export const SCRIPTS = {
  idle: 'trap "exit 0" TERM; while true; do sleep 0.1; done',
  copy: 'cat; echo done >&2; exit 3',
  family: 'sleep 4321 & (sleep 4322 &) ; echo begun; sleep 4323',
  window: 'trap "stty size" WINCH; stty size; while true; do sleep 0.1; done',
  greeter: 'while read line; do echo "got $line"; echo "saw $line" >&2; done; echo closed; sleep 1000',
  server: 'nc -ll -p 8080 -e cat',
  website: 'mkdir -p /tmp/www; echo hello > /tmp/www/index.html; httpd -f -p 127.0.0.1:8081 -h /tmp/www',
} as const;

/** The contract of a runtime's streams. */
export function describeStreams({ runtime, processes, eventually, kill, run }: StreamsUnderTest): void {
  const exec = (id: string, script: string, options: StreamOptions, stop = signal) =>
    runtime().streams.execStream(id, ['sh', '-c', script], options, stop);
  const collect = async (outputs: AsyncIterable<ProcessOutput>) => {
    const seen = { stdout: '', stderr: '', exitCode: undefined as number | undefined };
    for await (const part of outputs) {
      if (part.kind === 'exit') seen.exitCode = part.exitCode;
      else seen[part.kind] += Buffer.from(part.data).toString();
    }
    return seen;
  };
  const reading = (outputs: AsyncIterable<ProcessOutput>) => {
    const iterator = outputs[Symbol.asyncIterator]();
    let text = '';
    return {
      /** Returns everything that was received up to `wanted`. */
      until: async (wanted: string) => {
        while (!text.includes(wanted)) {
          const next = await iterator.next();
          if (next.done === true) throw new Error(`the output ended: ${text}`);
          if (next.value.kind !== 'exit') text += Buffer.from(next.value.data).toString();
        }
        return text;
      },
      next: () => iterator.next(),
      leave: () => iterator.return?.(),
    };
  };

  it('streams a command: input until it is closed, both outputs, the exit code', async () => {
    const { id } = await run(SCRIPTS.idle);
    const stdin = Readable.from(['one\n', 'two\n'], { objectMode: false });
    const seen = await collect(exec(id, SCRIPTS.copy, { ...PLAIN, stdin }));
    expect(seen).toEqual({ stdout: 'one\ntwo\n', stderr: 'done\n', exitCode: 3 });
  });

  it('needs no input any more when it asks for the next', async () => {
    const { id } = await run(SCRIPTS.idle);
    const rounds = 200;
    async function* input() {
      const data = Buffer.alloc(10_000);
      for (let round = 0; round < rounds; round++) yield data.fill(0x41 + (round % 26));
    }
    const { stdout } = await collect(exec(id, SCRIPTS.copy, { ...PLAIN, stdin: input() }));
    const expected = Array.from({ length: rounds }, (_, round) =>
      String.fromCharCode(0x41 + (round % 26)).repeat(10_000),
    );
    expect(stdout === expected.join('')).toBe(true);
  });

  it('gives a terminal the size that the client has, and follows it', async () => {
    const { id } = await run(SCRIPTS.idle);
    const sizes = new PassThrough({ objectMode: true });
    const output = reading(exec(id, SCRIPTS.window, { stdout: true, stderr: false, terminal: 'tty', sizes }));
    sizes.write({ width: 100, height: 40 });
    await output.until('40 100');
    sizes.write({ width: 50, height: 20 });
    await output.until('20 50');
    await output.leave();
  });

  it.each(['aborted', 'left'] as const)('kills a command that is %s, with its children', async (how) => {
    const { id } = await run(SCRIPTS.idle);
    const stop = new AbortController();
    const output = reading(exec(id, SCRIPTS.family, PLAIN, stop.signal));
    await output.until('begun');
    const left = async () => (await processes(id)).filter((line) => line.includes('432'));
    expect(await left()).not.toEqual([]);
    if (how === 'aborted') {
      stop.abort(new Error('the client has gone'));
      await expect(output.next()).rejects.toThrow('the client has gone');
    } else await output.leave();
    await eventually(async () => (await left()).length === 0);
    expect(await processes(id)).not.toEqual([]);
  });

  it('ends a command with its container', async () => {
    const { id } = await run(SCRIPTS.idle);
    const output = reading(exec(id, SCRIPTS.family, PLAIN));
    await output.until('begun');
    await kill(id);
    // The engine chooses the exit code.
    for (let next = await output.next(); next.done !== true; next = await output.next());
  });

  it('runs no command where nothing runs', async () => {
    const { id } = await run(SCRIPTS.idle);
    await kill(id);
    await eventually(async () => {
      const state = await collect(exec(id, 'true', PLAIN)).then(
        () => 'ran',
        (error: unknown) => error,
      );
      return state instanceof Error && 'code' in state;
    });
    await expect(collect(runtime().streams.attach(id, PLAIN, signal))).rejects.toSatisfy((error) =>
      isAgentError(error, 'NotFound'),
    );
  });

  it('joins the streams of a container, which go on when the client leaves', async () => {
    const { id } = await run(SCRIPTS.greeter, { stdin: 'open' });
    for (const name of ['one', 'two']) {
      const stdin = new PassThrough();
      const output = reading(runtime().streams.attach(id, { ...PLAIN, stdin }, signal));
      stdin.write(`${name}\n`);
      await output.until(`got ${name}`);
      await output.until(`saw ${name}`);
      await output.leave();
    }
  });

  it('closes the input of a container that takes it once, when its first client does', async () => {
    const { id } = await run(SCRIPTS.greeter, { stdin: 'open-once' });
    const stdin = new PassThrough();
    const output = reading(runtime().streams.attach(id, { ...PLAIN, stdin }, signal));
    stdin.write('one\n');
    await output.until('got one');
    stdin.end();
    await output.until('closed');
    await output.leave();
  });

  it('sends nothing to a container without standard input, and ends with it', async () => {
    const { id } = await run(SCRIPTS.idle);
    const stdin = new PassThrough();
    const ended = collect(runtime().streams.attach(id, { ...PLAIN, stdin }, signal));
    // This is more than any buffer holds. Without a reader, the data is dropped.
    for (let left = 64; left > 0; left--) if (!stdin.write(Buffer.alloc(64 * 1024))) await once(stdin, 'drain');
    await kill(id);
    // The engine may have been faster than the client.
    await ended.catch((error: unknown) => expect(error).toSatisfy((found) => isAgentError(found, 'NotFound')));
  });

  const receive = async ({ output }: PodConnection) => {
    const parts: Uint8Array[] = [];
    for await (const part of output) parts.push(part);
    return Buffer.concat(parts).toString();
  };
  const connected = async (sandboxId: string, port: number) => {
    let connection: PodConnection | undefined;
    await eventually(async () => {
      connection = await runtime()
        .streams.connect(sandboxId, port, signal)
        .catch((error: unknown) => {
          if (!isAgentError(error, 'ConnectFailed')) throw error;
          return undefined;
        });
      return connection !== undefined;
    });
    return connection ?? expect.unreachable();
  };

  it('connects to a port of a pod; each side is closed by itself', async () => {
    const { sandboxId } = await run(SCRIPTS.server);
    using connection = await connected(sandboxId, 8080);
    await connection.write(Buffer.from('hello'));
    connection.end();
    expect(await receive(connection)).toBe('hello');
  });

  it('connects to a port that listens on the loopback address only', async () => {
    const { sandboxId } = await run(SCRIPTS.website);
    using connection = await connected(sandboxId, 8081);
    await connection.write(Buffer.from('GET / HTTP/1.0\r\n\r\n'));
    expect(await receive(connection)).toContain('hello');
  });

  it('refuses a port where nothing listens, and a sandbox that does not run', async () => {
    const { sandboxId } = await run(SCRIPTS.idle);
    const connect = () => runtime().streams.connect(sandboxId, 8082, signal);
    await expect(connect()).rejects.toSatisfy((error) => isAgentError(error, 'ConnectFailed'));
    await runtime().sandboxes.stopSandbox(sandboxId, signal);
    await expect(connect()).rejects.toSatisfy((error) => isAgentError(error, 'NotFound'));
  });
}
