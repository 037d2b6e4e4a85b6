import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import type { KubeContext, Material } from '@gantry/client';
import { createSelfSigned } from '@gantry/tls';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createCredentials } from './credentials.ts';

vi.mock('@kubernetes/client-node', () => {
  throw new TypeError('the library was loaded');
});

const MINUTE_MS = 60_000;
let folder: string;
let clock: ManualClock;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gantry-credentials-'));
  clock = new ManualClock();
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): Material => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return { field: `field of ${name}`, file };
};
const data = (text: string): Material => ({ field: 'field', data: Buffer.from(text) });
const credentialsOf = (context: Partial<KubeContext>) =>
  createCredentials({ server: 'https://api', insecure: false, impersonation: {}, ...context }, clock);
const selfSigned = async () => {
  const now = Date.now();
  return await createSelfSigned(['api'], { notBefore: now, notAfter: now + MINUTE_MS });
};
/** Those of plain credentials are there at once. */
const dialled = (credentials: ReturnType<typeof createCredentials>) => {
  const found = credentials.dial();
  if (found instanceof Promise) throw new TypeError('they are not there at once');
  return found;
};

describe('a file with a token', () => {
  it('is read again after a minute, over the same connections', async () => {
    using credentials = credentialsOf({ token: write('token', 'first\n') });
    const first = dialled(credentials);
    expect(first.headers).toEqual({ authorization: 'Bearer first' });
    write('token', 'second');
    await clock.advance(MINUTE_MS - 1);
    expect(dialled(credentials)).toBe(first);
    await clock.advance(1);
    const second = dialled(credentials);
    expect(second.headers).toEqual({ authorization: 'Bearer second' });
    expect(second.agent).toBe(first.agent);
  });

  it('is read again at once when the server refuses the token', () => {
    using credentials = credentialsOf({ token: write('token', 'expired') });
    write('token', 'renewed');
    expect(dialled(credentials).headers).toEqual({ authorization: 'Bearer expired' });
    credentials.refused();
    expect(dialled(credentials).headers).toEqual({ authorization: 'Bearer renewed' });
  });

  it('keeps its last token while it cannot be read, until the server refuses that', async () => {
    const token = write('token', 'first');
    using credentials = credentialsOf({ token });
    rmSync(join(folder, 'token'));
    await clock.advance(MINUTE_MS);
    expect(dialled(credentials).headers).toEqual({ authorization: 'Bearer first' });
    credentials.refused();
    expect(() => credentials.dial()).toThrow(/field of token: .*ENOENT/);
    write('token', 'second');
    expect(dialled(credentials).headers).toEqual({ authorization: 'Bearer second' });
  });

  it('is refused with the name of the field when it is missing or empty', () => {
    expect(() => credentialsOf({ token: { field: 'users[u].user.tokenFile', file: join(folder, 'none') } })).toThrow(
      /users\[u\]\.user\.tokenFile: .*ENOENT/,
    );
    expect(() => credentialsOf({ token: write('token', '\n') })).toThrow('field of token: is empty');
  });
});

describe('certificates', () => {
  it('in files that are replaced get connections of their own', async () => {
    const [one, two] = [await selfSigned(), await selfSigned()];
    const material = {
      ca: write('ca', one.certificate),
      cert: write('cert', one.certificate),
      key: write('key', one.key),
    };
    using credentials = credentialsOf(material);
    const first = dialled(credentials).agent;
    await clock.advance(MINUTE_MS);
    expect(dialled(credentials).agent).toBe(first);
    write('cert', two.certificate);
    await clock.advance(MINUTE_MS);
    // Its key is not there yet.
    expect(dialled(credentials).agent).toBe(first);
    write('key', two.key);
    expect(dialled(credentials).agent).not.toBe(first);
  });

  it('that cannot be used are refused with the name of the field', async () => {
    const { certificate, key } = await selfSigned();
    expect(() =>
      credentialsOf({ ca: { field: 'clusters[c].cluster.certificate-authority-data', data: Buffer.from('x') } }),
    ).toThrow('clusters[c].cluster.certificate-authority-data: is no certificate in PEM');
    expect(() => credentialsOf({ cert: write('cert', 'x'), key: write('key', key) })).toThrow(
      /field of cert and field of key: /,
    );
    const other = await selfSigned();
    expect(() => credentialsOf({ cert: data(certificate), key: data(other.key) })).toThrow(/key values mismatch/);
  });
});

it('sends a password, and the user to act as', () => {
  using credentials = credentialsOf({
    server: 'http://api',
    basic: 'me:secret',
    impersonation: { 'Impersonate-User': 'you' },
  });
  expect(dialled(credentials)).toEqual({
    agent: expect.any(Agent) as Agent,
    auth: 'me:secret',
    headers: { 'Impersonate-User': 'you' },
  });
});

it.each<[string, Partial<KubeContext>]>([
  ['an exec plugin', { exec: { command: 'login' } }],
  ['an identity provider', { authProvider: { name: 'oidc' } }],
  ['a proxy', { proxyUrl: 'http://proxy' }],
])('loads the library only for %s', async (_, context) => {
  using plain = credentialsOf({ token: data('t') });
  expect(dialled(plain).headers).toEqual({ authorization: 'Bearer t' });
  using other = credentialsOf({ token: data('t'), ...context });
  await expect(other.dial()).rejects.toMatchObject({ cause: { message: 'the library was loaded' } });
});
