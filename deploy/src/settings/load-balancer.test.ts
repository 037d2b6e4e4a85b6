import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (name: string) => readFileSync(new URL(`../../load-balancer/${name}`, import.meta.url), 'utf8');
const CONFIG = read('haproxy.cfg');
const SUSPECTS = read('suspects.lua');

/** The value of a setting, in milliseconds. */
function milliseconds(setting: string): number {
  const [, number = '', unit] = new RegExp(`(?<![\\w-])${setting} (\\d+)(ms|s)\\b`).exec(CONFIG) ?? [];
  return Number(number) * (unit === 's' ? 1000 : 1);
}

/** The value of a constant of suspects.lua. */
function constant(name: string): number {
  return Number(new RegExp(`local ${name} = (\\d+)`).exec(SUSPECTS)?.[1]);
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

test('a paused apiserver gets no new connections after 5 s', () => {
  expect(CONFIG).toContain('lua-load /usr/local/etc/haproxy/suspects.lua');
  // The look after those that are allowed, and what is left of the time to it.
  const looks = constant('SLOW_AFTER_LOOKS') + 2;
  expect(milliseconds('inter') + looks * constant('LOOK_EVERY_MS')).toBeLessThanOrEqual(5000);
});

test('a failed check ends no connection: silence does, for longer than there is between two checks', () => {
  for (const config of [CONFIG, read('agents.cfg')]) {
    expect(config).not.toContain('shutdown-sessions');
    expect(config).toContain('use_backend unchecked if { nbsrv(apiservers) eq 0 }');
  }
  expect(CONFIG).toContain('option contstats');
  const silence = constant('SILENT_AFTER_LOOKS') * constant('LOOK_EVERY_MS');
  expect(silence).toBe(5000);
  expect(silence).toBeGreaterThan(milliseconds('inter'));
});

test.each([
  ['docker-compose.yml', 'load-balancer'],
  ['docker-compose.yml', 'ingress'],
  ['deploy/compose/hosts.yml', 'agent-gateway'],
])('HAProxy has no timers of the kernel for its watchdog: %s, %s', (file, service) => {
  const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
  const [, settings = ''] = new RegExp(`^  ${service}:\\n((?:(?:    .*)?\\n)+)`, 'm').exec(text) ?? [];
  expect(settings).toMatch(/ulimits: \{ sigpending: 0 \}|\*without-watchdog\]/);
  expect(text).toContain('ulimits: { sigpending: 0 }');
});

test('an address that DNS no longer lists stays until its checks have failed', () => {
  expect(milliseconds('hold nx')).toBeGreaterThan(16_000);
  expect(milliseconds('hold obsolete')).toBeGreaterThan(16_000);
});
