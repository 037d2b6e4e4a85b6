import { once } from 'node:events';
import { createServer } from 'node:net';
import { systemRandom } from '../index.ts';
import { expect, it } from 'vitest';
import { freePort, freePortFrom } from './free-port.ts';

/** An address of the loopback network that no other test has. */
const host = `127.${[0, 0, 0].map(() => 1 + Math.floor(systemRandom() * 250)).join('.')}`;

it('returns ports that the kernel gives to nobody, each once', async () => {
  const ports = [await freePort(), await freePort()];
  expect(new Set(ports).size).toBe(2);
  expect(ports.filter((port) => port < 20_000 || port >= 30_000)).toEqual([]);
});

it('leaves out a port that is in use, and throws when none is left', async () => {
  const next = freePortFrom(19_000);
  const taken = createServer().listen(19_001, host);
  await once(taken, 'listening');
  const given: number[] = [];
  const takeAll = async () => {
    for (;;) given.push(await next(host));
  };
  await expect(takeAll()).rejects.toThrow('none of the 20 ports from 19000 on is free');
  taken.close();
  expect(given).toEqual([19_000, ...Array.from({ length: 18 }, (_, index) => 19_002 + index)]);
});
