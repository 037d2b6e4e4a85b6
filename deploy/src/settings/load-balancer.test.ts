import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const CONFIG = readFileSync(new URL('../../load-balancer/haproxy.cfg', import.meta.url), 'utf8');

/** The value of a setting, in milliseconds. */
function milliseconds(setting: string): number {
  const [, number = '', unit] = new RegExp(`(?<![\\w-])${setting} (\\d+)(ms|s)\\b`).exec(CONFIG) ?? [];
  return Number(number) * (unit === 's' ? 1000 : 1);
}

// HAProxy ends the handshake of a check after the shorter of `timeout connect` and `inter`; `timeout check` is for what follows.
const handshake = Math.min(milliseconds('timeout connect'), milliseconds('inter'));

test('the handshake of a check may take as long as on an overloaded machine', () => {
  expect(handshake).toBe(3000);
});

test('a paused apiserver is marked down within 16 s', () => {
  const [, checks = ''] = /\bfall (\d+)/.exec(CONFIG) ?? [];
  const further = Number(checks) - 1;
  const worst = milliseconds('inter') + handshake + further * (milliseconds('fastinter') + handshake);
  expect(worst).toBeLessThanOrEqual(16_000);
  expect(further).toBeGreaterThan(0);
});

test('an address that DNS no longer lists stays until its checks have failed', () => {
  expect(milliseconds('hold nx')).toBeGreaterThan(16_000);
  expect(milliseconds('hold obsolete')).toBeGreaterThan(16_000);
});
