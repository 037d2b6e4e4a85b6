import { ManualClock } from '@gantry/base/testing';
import type { KubeObject, Resource } from '@gantry/objects';
import { expect, test } from 'vitest';
import { NodeAccess } from './node-access.ts';

const REQUEST = { method: 'GET', path: '/pods', certificate: undefined, token: 'of-viewer' };
const { signal } = new AbortController();

/** Starts an API server that answers when the test lets it. It accepts every token. */
function start() {
  const clock = new ManualClock();
  const asked: string[] = [];
  const hold = Promise.withResolvers<void>();
  const create = async <T extends KubeObject>(_: Resource<T>, object: T, deadline: AbortSignal): Promise<T> => {
    asked.push(object.kind ?? '');
    const late = new Promise<void>((_resolve, reject) => {
      deadline.addEventListener('abort', () => reject(deadline.reason as Error));
    });
    await Promise.race([hold.promise, late]);
    const user = { username: 'viewer' };
    return { ...object, status: object.kind === 'TokenReview' ? { authenticated: true, user } : { allowed: true } };
  };
  return { clock, asked, hold, access: new NodeAccess({ client: { create }, node: 'node-a', clock }) };
}

test('requests with one token that come together are asked about once, also when the first client leaves', async () => {
  const { asked, hold, access } = start();
  const leaving = new AbortController();
  const first = access.check(REQUEST, leaving.signal);
  const others = Array.from({ length: 4 }, () => access.check(REQUEST, signal));
  leaving.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  hold.resolve();
  expect(await Promise.all(others)).toEqual(['allowed', 'allowed', 'allowed', 'allowed']);
  expect(asked).toEqual(['TokenReview', 'SubjectAccessReview']);
});

test('an API server that does not answer is waited for a while, and asked again by the next request', async () => {
  const { clock, asked, hold, access } = start();
  const refused = expect(access.check(REQUEST, signal)).rejects.toThrow('deadline');
  await clock.advance(10_000);
  await refused;
  hold.resolve();
  expect(await access.check(REQUEST, signal)).toBe('allowed');
  expect(asked).toEqual(['TokenReview', 'TokenReview', 'SubjectAccessReview']);
});
