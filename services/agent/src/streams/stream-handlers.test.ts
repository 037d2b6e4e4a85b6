import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { ManualClock } from '@gantry/base/testing';
import {
  type PortForwardInput,
  PortForwardInputSchema,
  type PortForwardOutput,
  type StreamInput,
  StreamInputSchema,
  type StreamOutput,
  StreamStartSchema,
} from '@gantry/proto';
import { type GrpcCall, silentLogger } from '@gantry/service';
import { beforeEach, describe, expect, it } from 'vitest';
import type { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { SCRIPT_BEHAVIOUR } from '../hollow/testing/programs.ts';
import { SCRIPTS } from '../runtime/testing/streams-contract.ts';
import { runningContainer } from '../testing/running-container.ts';
import { killLeftoverCommands } from './leftover-commands.ts';
import { streamHandlers } from './stream-handlers.ts';

const OWNER = { cluster: 'c', node: 'n' };
const API_SERVER = ['gantry:apiservers'];
const START = { namespace: 'default', pod: 'web', podUid: 'uid-1', container: 'main', stdin: true, stdout: true };
const { signal } = new AbortController();

type Handle<I, O> = (requests: AsyncIterable<I>, call: Partial<GrpcCall>) => AsyncIterable<O>;

let runtime: HollowRuntime;
let handlers: ReturnType<typeof streamHandlers>;
let containerId: string;
let sandboxId: string;

beforeEach(async () => {
  const options = { clock: new ManualClock(), behaviour: SCRIPT_BEHAVIOUR };
  ({ runtime, sandboxId, containerId } = await runningContainer(OWNER, options));
  handlers = streamHandlers(runtime, OWNER);
});

async function* of<T>(...elements: readonly T[]): AsyncIterable<T> {
  yield* elements;
}

const callOf = (organizations: readonly string[], abort = signal) => ({
  signal: abort,
  identity: { commonName: 'a', organizations, organizationalUnits: [] },
});
const handleOf = <I, O>(name: 'exec' | 'attach' | 'portForward') =>
  (handlers[name] as unknown as { handle: Handle<I, O> }).handle;
const input = (part: MessageInitShape<typeof StreamInputSchema>['part']) => create(StreamInputSchema, { part });
const start = (change: MessageInitShape<typeof StreamStartSchema>) =>
  input({ case: 'start', value: create(StreamStartSchema, { ...START, ...change }) });
const stdin = (text: string) => input({ case: 'stdin', value: Buffer.from(text) });

function stream(
  name: 'exec' | 'attach',
  requests: AsyncIterable<StreamInput>,
  organizations = API_SERVER,
  abort = signal,
) {
  return handleOf<StreamInput, StreamOutput>(name)(requests, callOf(organizations, abort));
}

async function read(outputs: AsyncIterable<StreamOutput>): Promise<readonly unknown[]> {
  const seen: unknown[] = [];
  for await (const { part } of outputs) {
    if (part.case === 'started') seen.push('started');
    else if (part.case === 'exit') seen.push(part.value.code);
    else seen.push(`${part.case} ${Buffer.from(part.value as Uint8Array).toString()}`);
  }
  return seen;
}

function forward(port: number, ...more: readonly PortForwardInput[]) {
  const value = { namespace: 'default', pod: 'web', podUid: 'uid-1', port };
  const first = create(PortForwardInputSchema, { part: { case: 'start', value } });
  return handleOf<PortForwardInput, PortForwardOutput>('portForward')(of(first, ...more), callOf(API_SERVER));
}

const exec = (...command: readonly string[]) => start({ command: [...command], stderr: true });

describe('exec', () => {
  it('begins, sends both outputs, and ends with the exit code', async () => {
    const outputs = stream('exec', of(exec('sh', '-c', SCRIPTS.copy), stdin('a'), stdin('b')));
    expect(await read(outputs)).toEqual(['started', 'stdout a', 'stdout b', 'stderr done\n', 3]);
  });

  it('closes standard input when the client says so', async () => {
    const closed = input({ case: 'stdinClosed', value: {} });
    const outputs = stream('exec', of(exec('sh', '-c', SCRIPTS.copy), stdin('a'), closed, stdin('b')));
    expect(await read(outputs)).toEqual(['started', 'stdout a', 'stderr done\n', 3]);
  });

  it('kills the command when the client leaves', async () => {
    const stop = new AbortController();
    const outputs = stream('exec', of(exec('sh', '-c', SCRIPTS.family)), API_SERVER, stop.signal);
    const iterator = outputs[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.next();
    expect(runtime.streams.commands(containerId)).toHaveLength(1);
    stop.abort(new Error('the client has gone'));
    await expect(iterator.next()).rejects.toThrow('the client has gone');
    expect(runtime.streams.commands(containerId)).toEqual([]);
  });

  it.each([
    [
      'a caller that is no API server',
      [exec('true')],
      ['system:nodes'],
      'Forbidden',
      'only API servers may use streams here',
    ],
    [
      'a stream without a start',
      [stdin('a')],
      API_SERVER,
      'BadRequest',
      'the first message of a stream must be its start',
    ],
    ['an empty stream', [], API_SERVER, 'BadRequest', 'the first message of a stream must be its start'],
    ['a second start', [exec('sh', '-c', SCRIPTS.copy), exec('true')], API_SERVER, 'BadRequest', 'starts only once'],
    ['no command', [exec()], API_SERVER, 'BadRequest', 'you must specify at least 1 command for the container'],
    [
      'no stream',
      [start({ command: ['true'], stdin: false, stdout: false })],
      API_SERVER,
      'BadRequest',
      'you must specify at least 1 of stdin, stdout, stderr',
    ],
    [
      'a terminal with two outputs',
      [start({ command: ['true'], tty: true, stderr: true })],
      API_SERVER,
      'BadRequest',
      'tty and stderr cannot both be true',
    ],
    ['an unknown pod', [start({ command: ['true'], podUid: 'uid-2' })], API_SERVER, 'NotFound', 'pod does not exist'],
    ['a pod without a uid', [start({ command: ['true'], podUid: '' })], API_SERVER, 'NotFound', 'pod does not exist'],
    ['a pod of another name', [start({ command: ['true'], pod: 'db' })], API_SERVER, 'NotFound', 'pod does not exist'],
    [
      'a pod of another namespace',
      [start({ command: ['true'], namespace: 'kube-system' })],
      API_SERVER,
      'NotFound',
      'pod does not exist',
    ],
    [
      'an unknown container',
      [start({ command: ['true'], container: 'x' })],
      API_SERVER,
      'NotFound',
      'container not found ("x")',
    ],
  ])('refuses %s', async (_what, requests, organizations, reason, message) => {
    const outputs = read(stream('exec', of(...requests), organizations));
    await expect(outputs).rejects.toMatchObject({ reason, message: expect.stringContaining(message) });
  });

  it('refuses a container that does not run', async () => {
    runtime.exit(containerId, 1);
    await expect(read(stream('exec', of(exec('true'))))).rejects.toMatchObject({
      reason: 'NotFound',
      message: 'container not found ("main")',
    });
  });

  it('has a limit for each pod, which counts open streams only', async () => {
    const open = () => stream('exec', of(exec('sh', '-c', SCRIPTS.family)))[Symbol.asyncIterator]();
    const streams = Array.from({ length: 128 }, open);
    for (const one of streams) await one.next();
    await expect(open().next()).rejects.toMatchObject({
      reason: 'TooManyRequests',
      message: 'the pod has 128 open streams, which is the most that a pod may have',
    });
    await streams[0]?.return?.();
    await open().next();
  });
});

describe('attach', () => {
  it('joins the container, and ends with it without an exit code', async () => {
    runtime.behave({
      run: async function* ({ command }) {
        yield { kind: 'stdout', data: Buffer.from(command === undefined ? 'own' : 'another') };
        runtime.exit(containerId, 7);
      },
    });
    expect(await read(stream('attach', of(start({}))))).toEqual(['started', 'stdout own']);
  });

  it('is refused like exec', async () => {
    await expect(read(stream('attach', of(start({ container: 'x' }))))).rejects.toMatchObject({ reason: 'NotFound' });
    await expect(read(stream('attach', of(start({})), ['system:nodes']))).rejects.toMatchObject({
      reason: 'Forbidden',
    });
  });
});

describe('port-forward', () => {
  const text = async (outputs: AsyncIterable<PortForwardOutput>) => {
    const seen: string[] = [];
    for await (const { part } of outputs) {
      seen.push(part.case === 'data' ? Buffer.from(part.value).toString() : String(part.case));
    }
    return seen;
  };
  const data = (value: string) => create(PortForwardInputSchema, { part: { case: 'data', value: Buffer.from(value) } });

  it('sends and receives until the pod closes', async () => {
    const closed = create(PortForwardInputSchema, { part: { case: 'dataClosed', value: {} } });
    expect(await text(forward(8080, data('a'), data('b'), closed))).toEqual(['started', 'a', 'b', 'dataClosed']);
    expect(await text(forward(8080, data('a')))).toEqual(['started', 'a', 'dataClosed']);
  });

  it('sends what a client still has to say after the pod has closed its side', async () => {
    const got: string[] = [];
    const isOver = Promise.withResolvers<undefined>();
    runtime.behave({
      serve: async function* (_spec, _port, sent) {
        yield Buffer.from('bye');
        void (async () => {
          for await (const value of sent) got.push(Buffer.from(value).toString());
          isOver.resolve(undefined);
        })();
      },
    });
    const value = { namespace: 'default', pod: 'web', podUid: 'uid-1', port: 8080 };
    const podHasClosed = Promise.withResolvers<undefined>();
    const requests = (async function* () {
      yield create(PortForwardInputSchema, { part: { case: 'start', value } });
      await podHasClosed.promise;
      yield data('late');
    })();
    const seen: string[] = [];
    const handle = handleOf<PortForwardInput, PortForwardOutput>('portForward');
    for await (const { part } of handle(requests, callOf(API_SERVER))) {
      seen.push(String(part.case));
      if (part.case === 'dataClosed') podHasClosed.resolve(undefined);
    }
    await isOver.promise;
    expect(seen).toEqual(['started', 'data', 'dataClosed']);
    expect(got).toEqual(['late']);
  });

  it('ends when a client leaves that has closed its side, though the pod keeps its own open', async () => {
    const gone = new AbortController();
    const closed = Promise.withResolvers<undefined>();
    const forever = Promise.withResolvers<undefined>();
    runtime.behave({
      serve: async function* (_spec, _port, sent) {
        for await (const value of sent) yield value;
        closed.resolve(undefined);
        await forever.promise;
      },
    });
    const value = { namespace: 'default', pod: 'web', podUid: 'uid-1', port: 8080 };
    const first = create(PortForwardInputSchema, { part: { case: 'start', value } });
    const handle = handleOf<PortForwardInput, PortForwardOutput>('portForward');
    const ended = text(handle(of(first), callOf(API_SERVER, gone.signal)));
    await closed.promise;
    gone.abort(new Error('the client has gone'));
    expect(await ended).toEqual(['started']);
  });

  it('says which port of which pod refuses', async () => {
    await expect(text(forward(8082))).rejects.toMatchObject({
      reason: 'ServiceUnavailable',
      message: 'error forwarding port 8082 to pod web, uid uid-1: connect ECONNREFUSED 127.0.0.1:8082',
    });
  });

  it.each([0, 65_536])('refuses port %i', async (port) => {
    await expect(text(forward(port))).rejects.toMatchObject({ reason: 'BadRequest' });
  });

  it('refuses a pod whose sandbox has ended', async () => {
    await runtime.sandboxes.stopSandbox(sandboxId);
    await expect(text(forward(8080))).rejects.toMatchObject({
      reason: 'NotFound',
      message: 'pod not found ("web_default")',
    });
  });

  it('answers API servers only', async () => {
    const handle = handleOf<PortForwardInput, PortForwardOutput>('portForward');
    const outputs = handle(of<PortForwardInput>(), callOf(['system:nodes']));
    await expect(text(outputs)).rejects.toMatchObject({ reason: 'Forbidden' });
  });
});

it('an agent that starts looks into each container that runs, whatever happens with one of them', async () => {
  const asked: string[] = [];
  const failing = new Proxy(runtime, {
    get: (target, name) =>
      name === 'streams'
        ? { killLeftovers: (id: string) => (asked.push(id), Promise.reject(new Error('gone'))) }
        : Reflect.get(target, name, target),
  });
  await killLeftoverCommands(failing, OWNER, silentLogger, signal);
  expect(asked).toEqual([containerId]);
});
