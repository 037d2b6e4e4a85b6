import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it, test } from 'vitest';
import {
  changeMembers,
  checkRemoval,
  checkReplacement,
  failingMembers,
  healthyMembers,
  type Member,
  parseMembers,
} from './etcd-members.ts';
import { createEtcdTools, type EtcdTools } from './etcd-tools.ts';

test('members are read with their ids, also those that have not started', () => {
  const text = [
    'acd75ce5a42eee19, started, etcd-0, https://etcd-0:2380, https://etcd-0:2379, false',
    'b63f2b28b0c54fd4, unstarted, , https://etcd-2:2380, , true',
    '',
  ].join('\n');
  expect(parseMembers(text, new Set(['etcd-0']))).toEqual([
    { id: 'acd75ce5a42eee19', name: 'etcd-0', role: 'voter', state: 'healthy' },
    { id: 'b63f2b28b0c54fd4', name: 'etcd-2', role: 'learner', state: 'unhealthy' },
  ]);
});

test('healthy are those that answer, and nobody waits a minute for one that is down', async () => {
  const run = async (_: string, args: readonly string[]) => {
    const limit = args.findLast((arg) => arg.startsWith('--command-timeout'));
    const isDown = args.includes('https://etcd-1:2379');
    return { code: isDown || limit !== '--command-timeout=10s' ? 1 : 0, stdout: '', stderr: '' };
  };
  const layout = { members: ['etcd-0', 'etcd-1'], image: 'etcd:1', environments: {} };
  expect(await healthyMembers(createEtcdTools({ run }, 'c', layout))).toEqual(new Set(['etcd-0']));
});

describe('a change of the members', () => {
  const REMOVE = {
    args: ['remove', '2b'],
    isDone: (members: readonly Member[]) => !members.some(({ id }) => id === '2b'),
  };
  const ONE = '1a, started, etcd-0, https://etcd-0:2380, https://etcd-0:2379, false\n';
  const BOTH = `${ONE}2b, started, etcd-1, https://etcd-1:2380, https://etcd-1:2379, false\n`;

  /** Responds to the requests in this order, and returns what was asked for. */
  const asked = async (responses: readonly (string | { readonly refused: string })[]) => {
    const requests: string[] = [];
    const etcd = {
      ctl: async (_: readonly string[], args: readonly string[]) => {
        const response = responses[requests.length];
        requests.push(args.slice(0, 2).join(' '));
        if (typeof response === 'string') return response;
        throw new Error(response?.refused ?? 'nothing more is expected');
      },
    } as EtcdTools;
    const clock = new ManualClock();
    const done = changeMembers(etcd, ['etcd-0'], REMOVE, { clock, what: 'it', timeoutMs: 9000, everyMs: 10 }, () => {});
    await Promise.all([done, clock.advance(1000)]);
    return requests;
  };

  it.each([
    '"error":"rpc error: code = Unavailable desc = etcdserver: request timed out"}\nError: etcdserver: request timed out',
    'Error: etcdserver: unhealthy cluster',
    'Error: context deadline exceeded',
  ])('is asked for again after %s', async (refused) => {
    expect(await asked([BOTH, { refused }, BOTH, ''])).toEqual([
      'member list',
      'member remove',
      'member list',
      'member remove',
    ]);
  });

  it('is not asked for again when it was done although the request timed out', async () => {
    const refused = 'rpc error: code = Unavailable desc = etcdserver: request timed out';
    expect(await asked([BOTH, { refused }, ONE])).toEqual(['member list', 'member remove', 'member list']);
  });

  it('fails where etcd refuses it for good', async () => {
    const refused = 'rpc error: code = FailedPrecondition desc = etcdserver: too many learner members in cluster';
    await expect(asked([BOTH, { refused }])).rejects.toThrow('too many learner members');
  });
});

describe('a member', () => {
  const member = (name: string, state: Member['state'], role: Member['role'] = 'voter'): Member => ({
    name,
    id: name,
    role,
    state,
  });
  const [a, b, c] = [member('a', 'healthy'), member('b', 'healthy'), member('c', 'unhealthy')];

  it('is replaced while the others can write', () => {
    expect(() => checkReplacement('c', [a, b, c])).not.toThrow();
    expect(() => checkReplacement('a', [a, b, member('c', 'healthy')])).not.toThrow();
    expect(() => checkReplacement('c', [a, b])).not.toThrow();
  });

  it('stays where the others could not write, and a learner is no help', () => {
    const message = 'b cannot be replaced: without it 1 of 3 members are healthy, and 2 are needed to write';
    expect(() => checkReplacement('b', [a, b, c])).toThrow(message);
    expect(() => checkReplacement('a', [a, b, c, member('d', 'healthy', 'learner')])).toThrow('a cannot be replaced');
    expect(() => checkReplacement('a', [a])).toThrow('without it 0 of 1 members are healthy');
  });

  it('is removed for good where the others can write without it', () => {
    expect(() => checkRemoval('c', [a, b, c])).not.toThrow();
    expect(() => checkRemoval('b', [a, b])).not.toThrow();
    const refused = 'a cannot be removed: 1 of the 2 others are healthy, and 2 are needed to write';
    expect(() => checkRemoval('a', [a, b, c])).toThrow(refused);
    const alone = [a, member('b', 'healthy', 'learner')];
    expect(() => checkRemoval('a', alone)).toThrow('a cannot be removed: it is the only member');
  });
});

test('a member ends at each start if it has restarted often, last a short time ago, and is not healthy', async () => {
  const clock = new ManualClock();
  const container = (service: string, health: string) => ({
    name: `c-${service}`,
    service,
    state: 'running',
    health,
    image: '',
  });
  const containers = [
    container('etcd-0', 'healthy'),
    container('etcd-1', 'unhealthy'),
    container('etcd-2', 'starting'),
    container('etcd-3', 'unhealthy'),
    container('apiserver', 'unhealthy'),
  ];
  const started = (agoMs: number) => new Date(clock.now() - agoMs).toISOString();
  const asked: string[] = [];
  let log = 'panic: tocommit(7) is out of range';
  const run = async (_: string, [verb = '', ...args]: readonly string[]) => {
    if (verb === 'logs') return { code: 0, stdout: '', stderr: `{"msg":"starting"}\n${log}\n` };
    asked.push(...args.slice(2));
    // The last one runs without the others: its restarts were long ago.
    const lines = [`7 ${started(1)}`, `2 ${started(1)}`, `3 ${started(9_999)}`, `9 ${started(10_000)}`];
    return { code: 0, stdout: `${lines.join('\n')}\n`, stderr: '' };
  };
  expect(await failingMembers({ run }, clock, containers)).toEqual([{ name: 'etcd-2', cause: 'unknown' }]);
  expect(asked).toEqual(['c-etcd-0', 'c-etcd-1', 'c-etcd-2', 'c-etcd-3']);
  log = '{"level":"fatal","error":"write /var/lib/etcd/member/wal/0.tmp: no space left on device"}';
  expect(await failingMembers({ run }, clock, containers)).toEqual([{ name: 'etcd-2', cause: 'disk full' }]);
});

test('one whose container waits for its next start ends at each start, however long it ran', async () => {
  const etcd = { name: 'c', service: 'etcd-0', state: 'restarting', health: 'unhealthy', image: '' };
  const run = async () => ({ code: 0, stdout: '3 2026-01-01T00:00:00Z\n', stderr: '' });
  expect(await failingMembers({ run }, new ManualClock(), [etcd])).toHaveLength(1);
});
