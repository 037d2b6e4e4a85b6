import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { ManualClock } from '@gantry/base/testing';
import { ContainerStreamsSchema, PodPortsSchema, StreamStartSchema } from '@gantry/proto';
import { type GrpcCall, silentLogger } from '@gantry/service';
import { beforeEach, describe, expect, it } from 'vitest';
import type { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { runningContainer } from '../testing/running-container.ts';
import { killLeftoverCommands } from './leftover-commands.ts';
import { StreamLimits } from './stream-limits.ts';
import { StreamTickets } from './stream-tickets.ts';
import { API_SERVER, POD } from './testing/stream-agent.ts';

const OWNER = { cluster: 'c', node: 'n' };
const EXEC = { container: 'main', command: ['true'], stdout: true };

let runtime: HollowRuntime;
let clock: ManualClock;
let tickets: StreamTickets;
let containerId: string;
let sandboxId: string;
let call: AbortController;

beforeEach(async () => {
  clock = new ManualClock();
  call = new AbortController();
  ({ runtime, sandboxId, containerId } = await runningContainer(OWNER, { clock }));
  tickets = new StreamTickets({ runtime, owner: OWNER, limits: new StreamLimits(), clock });
});

type Exec = MessageInitShape<typeof ContainerStreamsSchema>;

const exec = (change: Exec = {}) =>
  ({ case: 'exec', value: create(ContainerStreamsSchema, { ...EXEC, ...change }) }) as const;
const attach = (change: Exec = {}) =>
  ({ case: 'attach', value: create(ContainerStreamsSchema, { ...EXEC, command: [], ...change }) }) as const;
const PORTS = { case: 'ports', value: create(PodPortsSchema) } as const;

function open(change: MessageInitShape<typeof StreamStartSchema> = {}, identity: GrpcCall['identity'] = API_SERVER) {
  const start = create(StreamStartSchema, { ...POD, target: exec(), ...change });
  return tickets.open(start, { signal: call.signal, identity, header: () => undefined })[Symbol.asyncIterator]();
}

const accepted = async (opened: ReturnType<typeof open>) => (await opened.next()).value.ticket as string;

describe('a stream that is opened', () => {
  it.each([
    ['exec', exec(), () => containerId],
    ['attach', attach(), () => containerId],
    ['port-forward', PORTS, () => sandboxId],
  ])('is accepted for %s: its ticket names it, once', async (_, target, id) => {
    const opened = open({ target });
    const ticket = await accepted(opened);
    const ended = opened.next();
    const stream = tickets.redeem(ticket);
    expect(stream).toMatchObject({ id: id(), signal: call.signal, start: { user: 'jane', target } });
    expect(tickets.redeem(ticket)).toBeUndefined();
    stream?.[Symbol.dispose]();
    expect((await ended).done).toBe(true);
  });

  it('lasts until the stream has ended, also when its API server leaves', async () => {
    const opened = open();
    const stream = tickets.redeem(await accepted(opened));
    let state = 'open';
    const ended = opened.next().finally(() => {
      state = 'ended';
    });
    call.abort(new Error('the client has gone'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(state).toBe('open');
    stream?.[Symbol.dispose]();
    await ended;
  });

  it.each([
    ['within 10 s', () => clock.advance(10_000), 'no request has followed within 10 s'],
    ['before its API server leaves', async () => call.abort(new Error('the client has gone')), 'the client has gone'],
  ])('ends when no request follows %s', async (_, pass, told) => {
    const opened = open();
    const ticket = await accepted(opened);
    const ended = expect(opened.next()).rejects.toThrow(told);
    await pass();
    await ended;
    expect(tickets.redeem(ticket)).toBeUndefined();
  });

  it('has a limit for each pod, which counts open streams only', async () => {
    const streams = Array.from({ length: 128 }, () => open());
    for (const one of streams) await one.next();
    await expect(open().next()).rejects.toMatchObject({
      reason: 'TooManyRequests',
      message: 'the pod has 128 open streams, which is the most that a pod may have',
    });
    await streams[0]?.return?.();
    await open().next();
  });
});

const NODE = { commonName: 'system:node:a', organizations: ['system:nodes'], organizationalUnits: [] };

it.each([
  ['a stream without a target', { target: { case: undefined } }, 'BadRequest', 'a stream must have a target'],
  ['no command', { target: exec({ command: [] }) }, 'BadRequest', 'you must specify at least 1 command'],
  [
    'no stream',
    { target: attach({ stdout: false }) },
    'BadRequest',
    'you must specify at least 1 of stdin, stdout, stderr',
  ],
  [
    'a terminal with two outputs',
    { target: exec({ tty: true, stderr: true }) },
    'BadRequest',
    'tty and stderr cannot both be true',
  ],
  ['an unknown pod', { podUid: 'uid-2' }, 'NotFound', 'pod does not exist'],
  ['a pod without a uid', { podUid: '' }, 'NotFound', 'pod does not exist'],
  ['a pod of another name', { pod: 'db' }, 'NotFound', 'pod does not exist'],
  ['a pod of another namespace', { namespace: 'kube-system', target: PORTS }, 'NotFound', 'pod does not exist'],
  ['an unknown container', { target: exec({ container: 'x' }) }, 'NotFound', 'container not found ("x")'],
  ['an unknown container of attach', { target: attach({ container: 'x' }) }, 'NotFound', 'container not found ("x")'],
] as const)('%s is refused', async (_what, change, reason, message) => {
  await expect(open(change).next()).rejects.toMatchObject({ reason, message: expect.stringContaining(message) });
});

it('callers that are no API server are refused', async () => {
  await expect(open({}, NODE).next()).rejects.toMatchObject({
    reason: 'Forbidden',
    message: expect.stringContaining('only API servers may use streams here'),
  });
});

it('a container that does not run, and a pod whose sandbox has ended, are refused', async () => {
  runtime.exit(containerId, 1);
  await expect(open().next()).rejects.toMatchObject({
    reason: 'NotFound',
    message: 'container not found ("main")',
  });
  await runtime.sandboxes.stopSandbox(sandboxId);
  await expect(open({ target: PORTS }).next()).rejects.toMatchObject({
    reason: 'NotFound',
    message: 'pod not found ("web_default")',
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
  await killLeftoverCommands(failing, OWNER, silentLogger, call.signal);
  expect(asked).toEqual([containerId]);
});
