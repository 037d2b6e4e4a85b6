import { describe, expect, it } from 'vitest';
import { type Change, formatLines, type MapChange, planChange } from './change.ts';
import type { ProxyState, Server } from './proxy-state.ts';
import { serverName } from './proxy-state.ts';

const FILES = { exact: 'E', prefix: 'P' };

function state(
  routes: Readonly<Record<string, string>>,
  servers: Readonly<Record<string, readonly Server[]>>,
): ProxyState {
  return {
    slots: 64,
    exact: new Map(),
    prefix: new Map(Object.entries(routes)),
    servers: new Map(
      Object.entries(servers).map(([slot, all]) => [slot, new Map(all.map((one) => [serverName(one), one]))]),
    ),
    certificates: new Map(),
  };
}

const one: Server = { target: '10.128.4.1:80', protocol: 'http' };
const two: Server = { target: '10.128.4.2:80', protocol: 'h2c' };
function change(
  from: ProxyState,
  to: ProxyState,
  leaving: readonly string[] = [],
): Pick<Change, 'leaving' | 'returning'> & { readonly commands: readonly string[] } {
  const { arriving, maps, departing, ...rest } = planChange(from, to, new Set(leaving), FILES);
  const lines = (map: MapChange) => (map.kind === 'commands' ? map.commands : [`replace ${map.file}`, ...map.payloads]);
  return { commands: [...arriving, ...maps.flatMap(lines), ...departing], ...rest };
}

describe('a change of a running HAProxy', () => {
  it('brings servers before the routes to them, and takes them away after these', () => {
    const { commands, leaving } = change(
      state({ 'a.example/': 'b0', 'a.example/x/': 'b0' }, { b0: [one] }),
      state({ 'a.example/': 'b1', 'b.example/': 'b1' }, { b1: [two] }),
    );
    expect(commands).toEqual([
      'add server b1/10.128.4.2_80_h2c 10.128.4.2:80 pool-purge-delay 2s proto h2',
      'enable server b1/10.128.4.2_80_h2c',
      'set map P a.example/ b1',
      'add map P b.example/ b1',
      'del map P a.example/x/',
      'disable server b0/10.128.4.1_80_http',
    ]);
    expect(leaving).toEqual(['b0/10.128.4.1_80_http']);
  });

  it('is none between equal states', () => {
    const same = () => state({ 'a.example/': 'b0' }, { b0: [one, two] });
    expect(change(same(), same())).toEqual({ commands: [], leaving: [], returning: [] });
  });

  it('uses a server again that has not left yet', () => {
    const path = 'b0/10.128.4.1_80_http';
    expect(change(state({}, { b0: [] }), state({}, { b0: [one] }), [path])).toEqual({
      commands: [`enable server ${path}`],
      leaving: [],
      returning: [path],
    });
  });

  it('passes on a semicolon of a path as part of its key', () => {
    const { commands } = change(state({}, {}), state({ 'a.example/x;del map P/': 'b0' }, {}));
    expect(commands).toEqual(['add map P a.example/x\\;del map P/ b0']);
  });

  it('has as many commands as differences, however large the states are', () => {
    const routes = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`h${index}.example/`, 'b0']));
    const { commands } = change(
      state(routes, { b0: [one] }),
      state({ ...routes, 'new.example/': 'b0' }, { b0: [one] }),
    );
    expect(commands).toEqual(['add map P new.example/ b0']);
  });

  it('replaces a map of which much changes, in pieces that the socket takes', () => {
    const routes = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`h${index}.example/`, 'b0']));
    const { commands } = change(state({}, {}), state(routes, {}));
    const [first, ...payloads] = commands;
    expect(first).toBe('replace P');
    expect(payloads.join('\n').split('\n')).toEqual(Object.keys(routes).map((key) => `${key} b0`));
    expect(Math.max(...payloads.map(({ length }) => length))).toBeLessThanOrEqual(24_000);
    const { commands: emptied } = change(state(routes, {}), state({}, {}));
    expect(emptied).toEqual(['replace P']);
  });
});

it('lines hold several commands, each at most what the socket takes', () => {
  const commands = Array.from({ length: 1000 }, (_, index) => `add map P h${index}.example/ b0`);
  const lines = formatLines(commands);
  expect(lines.join(';').split(';')).toEqual(commands);
  expect(lines.length).toBeGreaterThan(1);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(8000);
  expect(formatLines([])).toEqual([]);
});
