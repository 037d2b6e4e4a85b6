import { describe, expect, it } from 'vitest';
import { nfsAttempts, nfsFailure } from './nfs-options.ts';
import type { NfsSource } from '../runtime/host-mounts.ts';

const source: NfsSource = { server: 'files.test', path: '/data', options: [], access: 'read-write' };
const attempts = (change: Partial<NfsSource> = {}, address = '10.0.0.7') =>
  nfsAttempts({ ...source, ...change }, address, '/mnt');
const options = (change: Partial<NfsSource> = {}) =>
  attempts(change).map(({ args }) => args[args.indexOf('-o') + 1] ?? '');

describe('an NFS mount', () => {
  it('is tried without mount.nfs(8), the best version first, with the address of the server', () => {
    expect(attempts()[0]).toEqual({
      title: 'vers=4.2',
      args: [
        ...['--rw', '--no-canonicalize', '--internal-only', '-t', 'nfs'],
        ...['-o', 'vers=4.2,addr=10.0.0.7', '--', 'files.test:/data', '/mnt'],
      ],
    });
    expect(options()).toEqual([
      'vers=4.2,addr=10.0.0.7',
      'vers=4.1,addr=10.0.0.7',
      'vers=4.0,addr=10.0.0.7',
      'vers=3,nolock,addr=10.0.0.7',
    ]);
  });

  it.each<[string, readonly string[], string]>([
    ['vers', ['hard', 'vers=4.1'], 'hard,vers=4.1,addr=10.0.0.7'],
    ['several in one', ['hard,nfsvers=4', 'timeo=50'], 'hard,nfsvers=4,timeo=50,addr=10.0.0.7'],
    ['a flag', ['v4.0'], 'v4.0,addr=10.0.0.7'],
    ['the old one', ['nfsvers=3'], 'nfsvers=3,nolock,addr=10.0.0.7'],
    ['the old one with its locks', ['vers=3', 'lock'], 'vers=3,lock,addr=10.0.0.7'],
  ])('is tried once where a version is named: %s', (_, given, wanted) => {
    expect(options({ options: given })).toEqual([wanted]);
  });

  it('has the options of its volume in each attempt, and is read-only where that is asked', () => {
    const each = options({ options: ['nosuid', 'rw'], access: 'read-only' });
    expect(each).toHaveLength(4);
    for (const text of each) expect(text).toMatch(/^nosuid,rw,ro,vers=/);
    expect(attempts({ access: 'read-only' })[0]?.args).not.toContain('--rw');
    expect(attempts({ options: ['hard,ro'] })[0]?.args).not.toContain('--rw');
  });

  it('names an address of version 6 in brackets', () => {
    expect(attempts({ server: 'fd00::7' }, 'fd00::7')[0]?.args.slice(5)).toEqual([
      '-o',
      'vers=4.2,addr=fd00::7',
      '--',
      '[fd00::7]:/data',
      '/mnt',
    ]);
  });

  it.each([
    ['-o', '/data'],
    ['LABEL=x', '/data'],
    ['a b', '/data'],
    ['', '/data'],
    ['files.test', 'data'],
    ['files.test', '/da\0ta'],
  ])('is refused for what mount(8) could read as something else: %j %j', (server, path) => {
    expect(() => attempts({ server, path })).toThrow(/is not a name of a server|is not an absolute path/);
  });
});

it.each([
  ['mount: /state/v: special device s:/none does not exist.', 'the server has no such folder'],
  ['mount: /state/v: s:/x is write-protected but explicit read-write mode requested.', 'access denied by the server'],
  [
    'mount: /state/v: mount(2) system call failed: Connection refused.\n  dmesg(1) may say more.',
    'Connection refused.',
  ],
  ['mount: /state/v: bad option; for several filesystems', 'bad option; for several filesystems'],
])('what mount(8) says of a server: %j', (output, why) => {
  expect(nfsFailure(output, '/state/v')).toBe(why);
});
