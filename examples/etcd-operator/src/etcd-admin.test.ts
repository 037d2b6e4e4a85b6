import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { EtcdError, etcdAdmin } from './etcd-admin.ts';

const { signal } = new AbortController();
const LIST = {
  header: { cluster_id: '9', member_id: '1' },
  members: [
    { ID: '1', name: 'db-0', peerURLs: ['http://db-0.db.a.svc:2380'], clientURLs: [] },
    { ID: '18446744073709551615', peerURLs: ['http://db-1.db.a.svc:2380'], isLearner: true },
  ],
};
/** What a member answers: by path, a status code and a body. */
type Answers = Readonly<Record<string, readonly [number, unknown]>>;

/** Calls an admin of members that answer so. Resolves with what they were asked. */
async function asked(
  all: readonly Answers[],
  use: (admin: ReturnType<typeof etcdAdmin>) => Promise<void>,
): Promise<readonly string[]> {
  const requests: string[] = [];
  const servers = all.map((answers, i) =>
    createServer((request, response) => {
      let body = '';
      request.on('data', (part) => (body += String(part)));
      request.on('end', () => {
        const path = (request.url ?? '').replace('/v3/', '');
        requests.push(`${i} ${path} ${body}`);
        const [code, answer] = answers[path] ?? [404, 'no such path'];
        response.writeHead(code).end(typeof answer === 'string' ? answer : JSON.stringify(answer));
      });
    }).listen(0, '127.0.0.1'),
  );
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const endpoints = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  try {
    await use(etcdAdmin(endpoints, undefined));
  } finally {
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  }
  return requests;
}
const refusal = (message: string) => [412, { error: message, code: 9, message }] as const;
const NO_LEADER: Answers = { 'cluster/member/list': [503, { message: 'etcdserver: no leader' }] };

describe('the members', () => {
  it('are those that a majority agrees on, from the first member that reaches it', async () => {
    const good: Answers = { 'cluster/member/list': [200, LIST], 'maintenance/status': [200, { leader: '1' }] };
    const requests = await asked([NO_LEADER, good], async (admin) => {
      expect(await admin.membership(signal)).toEqual({
        clusterId: '9',
        leader: '1',
        members: [
          { id: '1', name: 'db-0', isLearner: false },
          { id: '18446744073709551615', name: 'db-1', isLearner: true },
        ],
      });
    });
    expect(requests[0]).toBe('0 cluster/member/list {"linearizable":true}');
  });

  it('are unknown if none reaches it', async () => {
    await asked([NO_LEADER, { 'cluster/member/list': [200, 'no json'] }], async (admin) => {
      expect(await admin.membership(signal)).toBeUndefined();
    });
    expect(await etcdAdmin([], undefined).membership(signal)).toBeUndefined();
  });
});

it('adds, promotes, removes and moves', async () => {
  const ok = [200, {}] as const;
  const answers: Answers = {
    'cluster/member/add': ok,
    'cluster/member/promote': ok,
    'cluster/member/remove': ok,
    'maintenance/transfer-leadership': ok,
  };
  const requests = await asked([answers], async (admin) => {
    await admin.addLearner('http://db-1:2380', signal);
    expect(await admin.promote('2', signal)).toBe(true);
    await admin.remove('2', signal);
    await admin.moveLeader('3', signal);
  });
  expect(requests).toEqual([
    '0 cluster/member/add {"peerURLs":["http://db-1:2380"],"isLearner":true}',
    '0 cluster/member/promote {"ID":"2"}',
    '0 cluster/member/remove {"ID":"2"}',
    '0 maintenance/transfer-leadership {"targetID":"3"}',
  ]);
});

it('takes refusals that only say "not yet" or "no longer" for what they are', async () => {
  const answers: Answers = {
    'cluster/member/promote': refusal('etcdserver: can only promote a learner member which is in sync with leader'),
    'cluster/member/remove': refusal('etcdserver: member not found'),
    'maintenance/transfer-leadership': refusal('etcdserver: not leader'),
  };
  await asked([answers], async (admin) => {
    expect(await admin.promote('2', signal)).toBe(false);
    await admin.remove('2', signal);
    await admin.moveLeader('3', signal);
  });
});

it('rejects with what etcd says, and without an endpoint', async () => {
  await asked([{ 'cluster/member/remove': [503, { message: 'etcdserver: unhealthy cluster' }] }], async (admin) => {
    await expect(admin.remove('2', signal)).rejects.toThrow('unhealthy cluster');
    await expect(admin.addLearner('x', signal)).rejects.toThrow(EtcdError);
  });
  await expect(etcdAdmin([], undefined).promote('1', signal)).rejects.toThrow('there is no endpoint');
  await expect(etcdAdmin(['http://127.0.0.1:1'], undefined).remove('1', signal)).rejects.toThrow('ECONNREFUSED');
});
