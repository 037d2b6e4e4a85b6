import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { CrowdError } from '@gantry/service';
import { ManualClock } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { createBodyReader } from './read-body.ts';

const never = new AbortController().signal;
const AT_ONCE = { next: () => undefined };
const LIMITS = { total: 100, perUser: 40, perAddress: 1000, stallMs: 10_000 };

function request(): IncomingMessage {
  return new IncomingMessage(new Socket());
}

it('is given up where the client has gone before', async () => {
  const gone = request();
  gone.destroy();
  await new Promise((closed) => gone.once('close', closed));
  const bodies = createBodyReader(new ManualClock(), AT_ONCE);
  await expect(bodies.read(gone, 'alice', AbortSignal.abort())).rejects.toThrow('did not arrive in time');
});

it('refuses more unfinished bytes of one user than its share, and takes those of others', async () => {
  const bodies = createBodyReader(new ManualClock(), AT_ONCE, LIMITS);
  const first = request();
  const unfinished = bodies.read(first, 'mallory', never);
  first.emit('data', Buffer.alloc(30));
  const second = request();
  const tooMuch = bodies.read(second, 'mallory', never);
  second.emit('data', Buffer.alloc(30));
  await expect(tooMuch).rejects.toMatchObject({ code: 429 });
  const other = request();
  const read = bodies.read(other, 'admin', never);
  other.emit('data', Buffer.alloc(30));
  other.emit('end');
  expect(await read).toHaveLength(30);
  first.emit('end');
  expect(await unfinished).toHaveLength(30);
});

it('refuses more unfinished bytes of one address than its share by any of its users', async () => {
  const bodies = createBodyReader(new ManualClock(), AT_ONCE, { ...LIMITS, perAddress: 50 });
  const first = request();
  const unfinished = bodies.read(first, 'alice', never);
  first.emit('data', Buffer.alloc(30));
  const second = request();
  const tooMuch = bodies.read(second, 'bob', never);
  second.emit('data', Buffer.alloc(30));
  await expect(tooMuch).rejects.toMatchObject({ code: 429 });
  first.emit('end');
  await unfinished;
});

it('gives up a body that stops arriving, not one that is slow', async () => {
  const clock = new ManualClock();
  const bodies = createBodyReader(clock, AT_ONCE, LIMITS);
  const slow = request();
  const read = bodies.read(slow, 'alice', never);
  const refused = expect(read).rejects.toThrow('the request body did not arrive in time');
  for (let i = 0; i < 3; i++) {
    slow.emit('data', Buffer.alloc(1));
    await clock.advance(9000);
  }
  const stalled = request();
  const second = bodies.read(stalled, 'bob', never);
  const secondRefused = expect(second).rejects.toThrow('the request body did not arrive in time');
  await clock.advance(10_000);
  await secondRefused;
  slow.emit('data', Buffer.alloc(1));
  await clock.advance(30_000);
  await refused;
});

it('reads a body of three megabytes, and none that is larger', async () => {
  const bodies = createBodyReader(new ManualClock(), AT_ONCE);
  const megabytes = Buffer.alloc(3 * 1024 * 1024);
  const fits = request();
  const whole = bodies.read(fits, 'alice', never);
  fits.emit('data', megabytes);
  fits.emit('end');
  expect(await whole).toHaveLength(megabytes.length);
  const large = request();
  const refused = bodies.read(large, 'alice', never);
  large.emit('data', megabytes);
  large.emit('data', Buffer.alloc(1));
  await expect(refused).rejects.toMatchObject({ reason: 'RequestEntityTooLarge' });
});

it('hands a body on when it has its turn', async () => {
  const turn = Promise.withResolvers<undefined>();
  const bodies = createBodyReader(new ManualClock(), { next: () => turn.promise }, LIMITS);
  const ended = request();
  let isHandedOn = false;
  const read = bodies.read(ended, 'alice', never).then((bytes) => {
    isHandedOn = true;
    return bytes;
  });
  ended.emit('data', Buffer.from('a'));
  ended.emit('end');
  for (let i = 0; i < 10; i++) await Promise.resolve();
  expect(isHandedOn).toBe(false);
  turn.resolve(undefined);
  expect(Buffer.from(await read).toString()).toBe('a');
});

it('lets the next step of a large body wait for its turn', async () => {
  const turn = Promise.withResolvers<undefined>();
  const bodies = createBodyReader(new ManualClock(), { next: () => turn.promise }, LIMITS);
  let isNext = false;
  const next = bodies.nextTurn('alice').then(() => {
    isNext = true;
  });
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
  expect(isNext).toBe(false);
  turn.resolve(undefined);
  await next;
});

it('asks for a turn of its user, and refuses where too many wait for one', async () => {
  const asked: string[] = [];
  const next = (source: string) => {
    asked.push(source);
    return source === 'user:mallory' ? Promise.reject(new CrowdError('too many')) : undefined;
  };
  const bodies = createBodyReader(new ManualClock(), { next }, LIMITS);
  const refused = request();
  const read = bodies.read(refused, 'mallory', never);
  refused.emit('end');
  await expect(read).rejects.toMatchObject({ code: 429 });
  await expect(bodies.nextTurn('mallory')).rejects.toMatchObject({ code: 429 });
  await bodies.nextTurn('alice');
  expect(asked).toEqual(['user:mallory', 'user:mallory', 'user:alice']);
});
