import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock, untilAborted } from '@gantry/base';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connectDocker, type DockerRuntime } from './docker-runtime.ts';

const SWITCHED = 'HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n';
const STREAMS = { stdout: true, stderr: true, terminal: 'none' } as const;
/** Every control group contains it. */
const CONTAINER = '0';

/** The engine is asked again at once; deadlines remain. */
const clock: Clock = { ...systemClock, setTimer: (ms, fire) => systemClock.setTimer(ms > 1000 ? ms : 0, fire) };

let folder: string;
let engine: Server;
let command: ChildProcess | undefined;
/** How often the engine says of a started command that it does not run, and that it has no process yet. */
let unbegun: { stopped: number; withoutProcess: number };
let onStart: (answer: () => void) => void;
let runtime: DockerRuntime;
const warnings: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'engine-'));
  command = undefined;
  unbegun = { stopped: 2, withoutProcess: 2 };
  warnings.length = 0;
  const sockets: Socket[] = [];
  engine = createServer((request, response) => {
    const state = request.method === 'POST' ? { Id: 'e' } : stateOfCommand();
    response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(state));
  });
  engine.on('upgrade', (_, socket: Socket) => {
    socket.on('error', () => socket.destroy());
    onStart(() => socket.write(SWITCHED));
  });
  engine.on('connection', (socket) => sockets.push(socket));
  engine.once('close', () => sockets.forEach((socket) => socket.destroy()));
  engine.listen(join(folder, 'engine.sock'));
  await once(engine, 'listening');
  runtime = connectDocker(
    join(folder, 'engine.sock'),
    () => 'full',
    clock,
    (message) => warnings.push(message),
  );
});
afterEach(async () => {
  command?.kill('SIGKILL');
  engine.closeAllConnections();
  engine.close();
  await rm(folder, { recursive: true });
});

/** The engine starts the process some time after it has answered the request. */
function stateOfCommand(): object {
  if (unbegun.stopped-- > 0) return { Running: false, Pid: 0, ExitCode: null };
  if (unbegun.withoutProcess-- > 0) return { Running: true, Pid: 0, ExitCode: null };
  command ??= spawn('sleep', ['1000'], { stdio: 'ignore' });
  const { pid, signalCode } = command;
  return signalCode === null ? { Running: true, Pid: pid, ExitCode: null } : { Running: false, Pid: 0, ExitCode: 137 };
}

async function drain(outputs: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of outputs);
}

it('kills a command whose client leaves before the engine has answered its start', async () => {
  const client = new AbortController();
  onStart = (answer) => {
    client.abort(new Error('left'));
    setImmediate(answer);
  };
  const run = drain(runtime.streams.execStream(CONTAINER, ['sleep'], STREAMS, client.signal));
  await expect(run).rejects.toThrow('left');
  expect(command?.signalCode).toBe('SIGKILL');
  expect(warnings).toEqual([]);
});

it('kills a command whose client leaves after that, and before the process begins', async () => {
  onStart = (answer) => answer();
  const run = leaveOnceStarted(CONTAINER);
  await expect(run).rejects.toThrow('left');
  expect(command?.signalCode).toBe('SIGKILL');
  expect(warnings).toEqual([]);
});

it('says that it cannot find the process of a command', async () => {
  onStart = (answer) => answer();
  await expect(leaveOnceStarted('none')).rejects.toThrow('left');
  expect(warnings).toEqual(['a command of container none may run on: its process is not found']);
});

/** Leaves when input is read, which is when the engine has answered. */
function leaveOnceStarted(container: string): Promise<void> {
  const client = new AbortController();
  const stdin = (async function* () {
    client.abort(new Error('left'));
    await untilAborted(new AbortController().signal);
    yield Buffer.alloc(0);
  })();
  return drain(runtime.streams.execStream(container, ['sleep'], { ...STREAMS, stdin }, client.signal));
}
