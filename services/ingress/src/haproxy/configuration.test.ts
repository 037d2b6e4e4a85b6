import { expect, it } from 'vitest';
import { formatFiles, runFilesIn } from './configuration.ts';
import type { ProxyState, Server } from './proxy-state.ts';

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
  expect(text.match(/^backend .*$/gm)).toEqual([
    'backend sources',
    'backend requests',
    'backend unavailable',
    'backend b0',
    'backend b1',
  ]);
  expect(text).toContain('  server 10.128.4.1_80_https 10.128.4.1:80 pool-purge-delay 2s ssl verify none\n');
  expect(text).not.toContain('a.example');
  expect(text).toContain('X-Forwarded-Port 8444 if { ssl_fc }');
});

it('has descriptors for all connections and requests that it takes', () => {
  const text = formatted.get(files.configuration) ?? '';
  const number = (pattern: RegExp) => Number(pattern.exec(text)?.[1]);
  const [descriptors, connections] = [number(/^  ulimit-n (\d+)$/m), number(/^  maxconn (\d+)$/m)];
  const [requests, ofOne] = [number(/sc1_conn_cur\(requests\) gt (\d+)/), number(/sc2_conn_cur\(requests\) gt (\d+)/)];
  // The connections to servers that are kept for later requests are at most as many as those in use.
  expect(connections + 2 * requests).toBeLessThan(descriptors);
  expect(ofOne).toBeLessThanOrEqual(requests / 3);
  expect(number(/sc0_conn_cur\(sources\) gt (\d+)/)).toBeLessThanOrEqual(connections / 2);
  const order = ['map_beg', 'field\\(2,\\.\\)', 'track-sc2 var\\(txn\\.tenant\\)', 'sc2_conn_cur', 'use_backend'];
  expect(text).toMatch(new RegExp(order.join('[^]*')));
});

it('looks hosts up before wildcards before all hosts, and there whole paths before prefixes', () => {
  const text = formatted.get(files.configuration) ?? '';
  expect(
    [...text.matchAll(/set-var\(txn\.to\) var\(txn\.(\w+)\),\S*(map_\w+)/g)].map(([, of, map]) => `${of} ${map}`),
  ).toEqual(['host map_str', 'host map_beg', 'wildcard map_str', 'wildcard map_beg', 'any map_str', 'any map_beg']);
});
