import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bytesOf, KubeconfigError, parseKubeconfig, podAccount, readContext, readKubeconfig } from './kubeconfig.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gantry-kubeconfig-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const CLUSTER = { server: 'https://api.example.com:6443/' };
const CONTEXT = { cluster: 'c', user: 'u', namespace: 'mine' };
const configOf = (user: object = {}, cluster: object = {}, rest: object = {}) => ({
  clusters: [{ name: 'c', cluster: { ...CLUSTER, ...cluster } }],
  users: [{ name: 'u', user }],
  contexts: [{ name: 'x', context: CONTEXT }],
  'current-context': 'x',
  ...rest,
});
const write = (name: string, config: object | string): string => {
  const file = join(folder, name);
  writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config));
  return file;
};
const base64 = (text: string) => Buffer.from(text).toString('base64');

it('names the line of a text that is no YAML, and does not repeat the text', () => {
  let failure: unknown;
  try {
    parseKubeconfig('users:\n- name: u\n  user:\n    token: "hunter2\n  x: [\n');
  } catch (error) {
    failure = error;
  }
  expect(failure).toBeInstanceOf(KubeconfigError);
  expect(inspect(failure)).toMatch(/kubeconfig: yaml: .*line \d/);
  expect(inspect(failure)).not.toContain('hunter2');
});

it('reads certificates, the token and the namespace of the current context', () => {
  write('ca.crt', 'authority');
  write('token', 'from the file\n');
  const user = {
    'client-certificate-data': base64('cert'),
    'client-key-data': base64('key'),
    token: 'other',
    tokenFile: 'token',
  };
  const file = write('config', configOf(user, { 'certificate-authority': 'ca.crt', 'tls-server-name': 'api' }));
  expect(readKubeconfig(file)).toEqual({
    server: 'https://api.example.com:6443',
    serverName: 'api',
    namespace: 'mine',
    ca: Buffer.from('authority'),
    cert: Buffer.from('cert'),
    key: Buffer.from('key'),
    token: 'from the file',
  });
});

describe('a context', () => {
  it('has what needs a library, and the headers of impersonation', () => {
    const exec = { command: 'login' };
    const user = {
      exec,
      username: 'me',
      password: 'a:b',
      as: 'you',
      'as-groups': ['g', 'h'],
      'as-user-extra': { 'a/b': ['1'] },
    };
    const file = write('config', configOf(user, { 'proxy-url': 'http://proxy', 'insecure-skip-tls-verify': true }));
    expect(readContext([file])).toMatchObject({
      exec,
      proxyUrl: 'http://proxy',
      insecure: true,
      basic: 'me:a:b',
      impersonation: { 'Impersonate-User': 'you', 'Impersonate-Group': ['g', 'h'], 'Impersonate-Extra-a%2Fb': ['1'] },
    });
  });

  it('is read from several files as kubectl merges them', () => {
    const first = write('first', { 'current-context': 'x', users: [{ name: 'u', user: { token: 'first' } }] });
    const second = write('second', configOf({ token: 'second' }, {}, { 'current-context': 'y' }));
    const { server, token } = readContext([join(folder, 'none'), first, second]);
    expect([server, token]).toMatchObject(['https://api.example.com:6443', { data: Buffer.from('first') }]);
    expect(() => readContext([join(folder, 'none'), join(folder, 'nor')])).toThrow(
      /none of these files exists: .*none, /,
    );
  });

  it('needs no user', () => {
    const file = write(
      'config',
      configOf({}, {}, { contexts: [{ name: 'x', context: { cluster: 'c' } }], users: null }),
    );
    expect(readContext([file])).toMatchObject({ server: 'https://api.example.com:6443', impersonation: {} });
  });

  it.each<[string, object | string, RegExp]>([
    ['no mapping', '- a', /config: must be a mapping/],
    ['no YAML', 'a: [', /config: yaml: .*line \d/],
    ['an empty file', '', /current-context: is required/],
    ['no context of that name', configOf({}, {}, { 'current-context': 'z' }), /no context named "z"/],
    ['no cluster of that name', configOf({}, {}, { clusters: [] }), /contexts\[x\]\.context: no cluster named "c"/],
    ['no user of that name', configOf({}, {}, { users: [] }), /contexts\[x\]\.context: no user named "u"/],
    [
      'a context without a cluster',
      configOf({}, {}, { contexts: [{ name: 'x' }] }),
      /contexts\[x\]\.context\.cluster: is required/,
    ],
    [
      'two entries of a name',
      configOf({}, {}, { users: [{ name: 'u' }, { name: 'u' }] }),
      /users\[u\]: two have this name/,
    ],
    ['a list that is none', configOf({}, {}, { users: 'u' }), /users: must be a list/],
    ['no server', configOf({}, { server: '' }), /clusters\[c\]\.cluster\.server: is required/],
    [
      'a server that is no URL',
      configOf({}, { server: 'api:6443' }),
      /clusters\[c\]\.cluster\.server: is no URL: api:6443/,
    ],
    [
      'an authority that is not base64',
      configOf({}, { 'certificate-authority-data': '-----' }),
      /certificate-authority-data: is not base64/,
    ],
    ['a token that is a number', configOf({ token: 5 }), /users\[u\]\.user\.token: must be a string/],
    [
      'a certificate without a key',
      configOf({ 'client-certificate': 'a' }),
      /users\[u\]\.user\.client-key: is required with/,
    ],
    ['a key without a certificate', configOf({ 'client-key': 'a' }), /client-certificate: is required with client-key/],
    ['a plugin that is a text', configOf({ exec: 'login' }), /users\[u\]\.user\.exec: must be a mapping/],
    [
      'groups that are a text',
      configOf({ 'as-groups': 'g' }),
      /users\[u\]\.user\.as-groups: must be a list of strings/,
    ],
    ['extra that is a text', configOf({ 'as-user-extra': { a: 'b' } }), /as-user-extra\.a: must be a list of strings/],
  ])('is refused with the name of the field: %s', (_, config, message) => {
    const file = write('config', config);
    expect(() => readContext([file])).toThrow(KubeconfigError);
    expect(() => readContext([file])).toThrow(message);
    expect(() => readContext([file])).toThrow(`kubeconfig: ${file}`);
  });
});

it('names the field of a file that cannot be read', () => {
  const config = write('config', configOf({ tokenFile: 'none' }));
  expect(() => readKubeconfig(config)).toThrow(/users\[u\]\.user\.tokenFile: .*ENOENT/);
  expect(() => readKubeconfig(join(folder, 'nor'))).toThrow(/nor cannot be read: .*ENOENT/);
});

describe('the account of a pod', () => {
  const ENV = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };

  it('has the address of the service and the files of the account', () => {
    for (const name of ['token', 'ca.crt', 'namespace']) write(name, `${name}\n`);
    const account = podAccount(ENV, folder);
    expect(account).toMatchObject({ server: 'https://[fd00::1]:443', namespace: 'namespace', insecure: false });
    const [ca, token] = [account?.ca, account?.token];
    expect([ca, token].map((one) => one && bytesOf(one).toString())).toEqual(['ca.crt\n', 'token\n']);
  });

  it('is none outside of a cluster, and without a token', () => {
    expect(podAccount(ENV, folder)).toBeUndefined();
    write('token', 't');
    expect(podAccount({ KUBERNETES_SERVICE_HOST: 'h' }, folder)).toBeUndefined();
    expect(podAccount(ENV, folder)).toBeDefined();
  });
});
