import { ManualClock } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { NetworkOpens } from './network-opens.ts';

const { signal } = new AbortController();

/** Returns an open that continues until the test ends it. Notes what happens to it. */
function openOf(name: string, seen: string[]) {
  const end = Promise.withResolvers<void>();
  const open = async () => {
    seen.push(`${name} begins`);
    await end.promise;
    return { name, [Symbol.asyncDispose]: async () => void seen.push(`${name} is disposed of`) };
  };
  return { open, end: () => end.resolve() };
}

it('opens on a server go on one after the other', async () => {
  const [opens, seen] = [new NetworkOpens(new ManualClock()), [] as string[]];
  const [one, two] = [openOf('one', seen), openOf('two', seen)];
  const [first, second] = [opens.use(['s'], one.open, signal), opens.use(['s'], two.open, signal)];
  await expect.poll(() => seen).toEqual(['one begins']);
  one.end();
  expect(await first).toMatchObject({ name: 'one' });
  await expect.poll(() => seen).toEqual(['one begins', 'two begins']);
  two.end();
  expect(await second).toMatchObject({ name: 'two' });
});

it('an open that hangs is given up, with those that wait for it, and disposed of before the next begins', async () => {
  const [clock, seen] = [new ManualClock(), [] as string[]];
  const opens = new NetworkOpens(clock);
  const [hung, late, next] = [openOf('hung', seen), openOf('late', seen), openOf('next', seen)];
  const results = Promise.allSettled([opens.use(['s'], hung.open, signal), opens.use(['s'], late.open, signal)]);
  await expect.poll(() => seen).toEqual(['hung begins']);
  await clock.advance(30_000);
  for (const result of await results) expect(result).toMatchObject({ reason: { code: 'FailedMount' } });
  const after = opens.use(['s'], next.open, signal);
  hung.end();
  next.end();
  expect(await after).toMatchObject({ name: 'next' });
  expect(seen).toEqual(['hung begins', 'hung is disposed of', 'next begins']);
});

it('a server that hangs delays no other, also not with those of its opens that name both', async () => {
  const [clock, seen] = [new ManualClock(), [] as string[]];
  const opens = new NetworkOpens(clock);
  const [hung, both, well, after] = ['hung', 'both', 'well', 'after'].map((name) => openOf(name, seen));
  if (hung === undefined || both === undefined || well === undefined || after === undefined)
    return expect.unreachable();
  const lost = Promise.allSettled([opens.use(['bad'], hung.open, signal)]);
  well.end();
  expect(await opens.use(['good'], well.open, signal)).toMatchObject({ name: 'well' });
  await clock.advance(1_000);
  const mixed = Promise.allSettled([opens.use(['bad', 'good'], both.open, signal)]);
  await clock.advance(1_000);
  after.end();
  expect(await opens.use(['good'], after.open, signal)).toMatchObject({ name: 'after' });
  await clock.advance(30_000);
  expect(await Promise.all([lost, mixed])).toMatchObject([[{ status: 'rejected' }], [{ status: 'rejected' }]]);
  hung.end();
  await expect.poll(() => seen).toEqual(['hung begins', 'well begins', 'after begins', 'hung is disposed of']);
});

it('servers that hang keep two threads, and no more', async () => {
  const [clock, seen] = [new ManualClock(), [] as string[]];
  const opens = new NetworkOpens(clock);
  const all = ['one', 'two', 'three'].map((name) => ({ name, ...openOf(name, seen) }));
  const results = Promise.allSettled(all.map(({ name, open }) => opens.use([name], open, signal)));
  await clock.advance(30_000);
  for (const result of await results) expect(result).toMatchObject({ reason: { code: 'FailedMount' } });
  expect(seen).toEqual(['one begins', 'two begins']);
  for (const { end } of all) end();
  await expect.poll(() => seen.slice(2).toSorted()).toEqual(['one is disposed of', 'two is disposed of']);
});

it('an open that hangs ends with its signal', async () => {
  const [opens, seen, stop] = [new NetworkOpens(new ManualClock()), [] as string[], new AbortController()];
  const opened = opens.use(['s'], openOf('hung', seen).open, stop.signal);
  await expect.poll(() => seen).toEqual(['hung begins']);
  stop.abort(new Error('deleted'));
  await expect(opened).rejects.toThrow('deleted');
});

it('an open that fails does not hold up the next', async () => {
  const [opens, seen] = [new NetworkOpens(new ManualClock()), [] as string[]];
  await expect(opens.use(['s'], () => Promise.reject(new Error('no such folder')), signal)).rejects.toThrow(
    'no such folder',
  );
  const next = openOf('next', seen);
  next.end();
  expect(await opens.use(['s'], next.open, signal)).toMatchObject({ name: 'next' });
});
