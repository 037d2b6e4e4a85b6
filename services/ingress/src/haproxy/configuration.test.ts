import { expect, it } from 'vitest';
import { formatFiles } from './configuration.ts';
import type { ProxyState, Server } from './proxy-state.ts';
import { runFilesIn } from './run-files.ts';

const files = runFilesIn('/run/x');
const server: Server = { target: '10.128.4.1:80', protocol: 'https' };
const state: ProxyState = {
  slots: 2,
  exact: new Map([['a.example/x', 'b0']]),
  prefix: new Map([['*/', 'unavailable']]),
  servers: new Map([['b0', new Map([['s', server]])]]),
  certificates: new Map([['certificate-1', { hosts: ['*.a.example', 'b.example'], pem: 'PEM' }]]),
};
const formatted = formatFiles(state, files, { clusterId: 'gantry-1', httpPort: 8081, httpsPort: 8444 });

it('each file has its part of the state', () => {
  expect(formatted.get(files.exact)).toBe('a.example/x b0\n');
  expect(formatted.get(files.prefix)).toBe('*/ unavailable\n');
  expect(formatted.get(files.certificateList)).toBe(
    '/run/x/certificate-1.pem [alpn h2,http/1.1] *.a.example b.example\n',
  );
  expect(formatted.get('/run/x/certificate-1.pem')).toBe('PEM');
});

it('the configuration has all slots, and no host or path of a user', () => {
  const text = formatted.get(files.configuration) ?? '';
  expect(text.match(/^backend .*$/gm)).toEqual(['backend unavailable', 'backend b0', 'backend b1']);
  expect(text).toContain('  server 10.128.4.1_80_https 10.128.4.1:80 pool-purge-delay 2s ssl verify none\n');
  expect(text).not.toContain('a.example');
  expect(text).toContain('X-Forwarded-Port 8444 if { ssl_fc }');
});

it('looks hosts up before wildcards before all hosts, and there whole paths before prefixes', () => {
  const text = formatted.get(files.configuration) ?? '';
  expect(
    [...text.matchAll(/set-var\(txn\.to\) var\(txn\.(\w+)\),\S*(map_\w+)/g)].map(([, of, map]) => `${of} ${map}`),
  ).toEqual(['host map_str', 'host map_beg', 'wildcard map_str', 'wildcard map_beg', 'any map_str', 'any map_beg']);
});
