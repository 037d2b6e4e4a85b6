import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { TlsMaterial } from '@gantry/tls';
import { type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { type RangeRequest, RangeRequestSchema, RangeResponseSchema } from '../gen/rpc_pb.ts';
import { createTestAuthority } from '../testing/certificates.ts';
import { electionKeyOf } from './election.ts';
import { openElection } from './open-election.ts';

/** A member of etcd in which another candidate leads. It requires certificates of the authority. */
async function startMember({ ca, cert, key }: TlsMaterial, onRange: (user: string, key: string) => void) {
  const server = new Server();
  const leader = { key: Buffer.from('key'), value: Buffer.from('another') };
  const response = toBinary(
    RangeResponseSchema,
    create(RangeResponseSchema, { header: { revision: 1n }, kvs: [leader] }),
  );
  const range = {
    ...{ path: '/etcdserverpb.KV/Range', requestStream: false, responseStream: false },
    requestDeserialize: (bytes: Buffer) => fromBinary(RangeRequestSchema, bytes),
    requestSerialize: Buffer.from,
    responseDeserialize: Buffer.from,
    responseSerialize: Buffer.from,
  };
  const answer: handleUnaryCall<RangeRequest, Uint8Array> = (call, respond) => {
    const user = call.getAuthContext().sslPeerCertificate?.subject.CN;
    onRange(String(user), Buffer.from(call.request.key).toString());
    respond(null, response);
  };
  server.addService({ range }, { range: answer });
  const credentials = ServerCredentials.createSsl(ca, [{ cert_chain: cert, private_key: key }], true);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('localhost:0', credentials, (error, bound) => (error === null ? resolve(bound) : reject(error))),
  );
  return { server, endpoint: `https://localhost:${port}` };
}

it('waits for its certificate, campaigns with it, and closes its connection and its files', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-election-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const issue = await createTestAuthority();
  const ranges: unknown[] = [];
  const { server, endpoint } = await startMember(await issue('member', 'localhost'), (...range) => ranges.push(range));
  onTestFinished(() => server.forceShutdown());
  // The deadlines of calls are points in time for the library.
  const clock = new ManualClock(Date.now());
  const logged: object[] = [];
  const log = (fields: object, message: string) => void logged.push({ ...fields, message });
  const opening = openElection({
    ...{
      etcd: [endpoint],
      etcdTlsDir: folder,
      leaseTtlMs: 2000,
      leaseMaxTtlMs: 8000,
      component: 'kube-scheduler',
      identity: 'me',
    },
    ...{ clock, random: seededRandom(1), logger: { info: log, warn: log } },
  });
  await expect.poll(() => logged).toContainEqual(expect.objectContaining({ folder, message: 'waiting for TLS files' }));
  const { ca, cert, key } = await issue('system:kube-scheduler');
  for (const [file, bytes] of Object.entries({ 'ca.crt': ca, 'tls.crt': cert, 'tls.key': key }))
    await writeFile(join(folder, file), bytes);
  const state: { election?: Awaited<typeof opening> } = {};
  void opening.then((election) => (state.election = election));
  await expect.poll(() => clock.advance(250).then(() => state.election)).toBeDefined();
  const election = await opening;
  const stop = new AbortController();
  const campaign = election.campaign(stop.signal)[Symbol.asyncIterator]().next();
  await expect
    .poll(() => clock.advance(100).then(() => logged))
    .toContainEqual({ kind: 'following', leader: 'another', message: 'election' });
  expect(ranges).toContainEqual(['system:kube-scheduler', electionKeyOf('kube-scheduler')]);
  stop.abort();
  await campaign;
  await election[Symbol.asyncDispose]();
  expect(clock.nextTimerMs()).toBeUndefined();
  const late = new AbortController();
  const unserved = election.campaign(late.signal)[Symbol.asyncIterator]().next();
  await expect
    .poll(() => logged)
    .toContainEqual({ kind: 'retrying', reason: 'Channel has been shut down', message: 'election' });
  late.abort();
  await unserved;
});
