import { systemClock } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { silentLogger } from '@gantry/service';
import type { Answer } from 'dns-packet';
import { describe, expect, it } from 'vitest';
import { type Asked, questionPacket, type ReadResponse, readResponse } from '../testing/ask.ts';
import { type Answering, startUpstream } from '../testing/upstream-server.ts';
import { type Query, readQuery } from '../wire/query.ts';
import type { Transport } from '../wire/response.ts';
import type { Upstream } from './exchange.ts';
import { Forwarder } from './forwarder.ts';

const NAME = 'www.example.com';
const ADDRESS: Answer = { type: 'A', name: NAME, ttl: 60, data: '192.0.2.1' };
const SOA: Answer = {
  type: 'SOA',
  name: 'example.com',
  ttl: 60,
  data: { mname: 'a.example.com', rname: 'b.example.com', minimum: 20 },
};

type Wrong = NonNullable<ReturnType<Answering>>;

function queryOf(name: string, asked: Asked = {}): Query {
  const read = readQuery(questionPacket(name, asked));
  if (read.kind !== 'query') throw new RangeError('the question is one');
  return read.query;
}

function forwarderTo(upstreams: readonly Upstream[], clock = new ManualClock()): Forwarder {
  return new Forwarder({ upstreams: () => upstreams, clock, random: () => 0.3, logger: silentLogger });
}

const CLIENT = { address: '10.128.4.9', transport: 'udp' } as const;

async function resolve(forwarder: Forwarder, asked: Asked = {}, transport: Transport = 'udp'): Promise<ReadResponse> {
  return readResponse(await forwarder.resolve(queryOf(NAME, asked), { ...CLIENT, transport }));
}

describe('the forwarder', () => {
  it('relays what the resolver of the host answers, and keeps it while it is valid', async () => {
    await using server = await startUpstream(() => ({ answers: [ADDRESS] }));
    const clock = new ManualClock();
    const forwarder = forwarderTo([server.upstream], clock);
    const first = await resolve(forwarder, { id: 77 });
    expect(first).toMatchObject({
      rcode: 'NOERROR',
      answers: [`${NAME} A 192.0.2.1`],
      packet: { id: 77, flag_ra: true },
    });
    await clock.advance(29_000);
    const second = await resolve(forwarder, { id: 78, edns: 1232 });
    expect(second.packet).toMatchObject({ id: 78, answers: [{ ttl: 31 }], additionals: [{ type: 'OPT' }] });
    expect(server.asked).toEqual([`udp ${NAME}`]);
    await clock.advance(1000);
    await resolve(forwarder);
    expect(server.asked).toHaveLength(2);
    expect(forwarder.totals).toEqual({ hits: 1, asked: 2, failed: 0 });
  });

  it.each([
    ['as long as its zone says', [SOA], 20_000],
    ['not at all without a zone', [], 0],
  ])('keeps that a name does not exist %s', async (_, authorities, validMs) => {
    await using server = await startUpstream(() => ({ authorities, flags: 3 }));
    const clock = new ManualClock();
    const forwarder = forwarderTo([server.upstream], clock);
    expect((await resolve(forwarder)).rcode).toBe('NXDOMAIN');
    await clock.advance(validMs - 1);
    await resolve(forwarder);
    expect(server.asked).toHaveLength(validMs === 0 ? 2 : 1);
    await clock.advance(1);
    await resolve(forwarder);
    expect(server.asked).toHaveLength(validMs === 0 ? 3 : 2);
  });

  it('asks once for equal questions at the same time, and gives each its own id', async () => {
    await using server = await startUpstream(() => ({ answers: [ADDRESS] }));
    const forwarder = forwarderTo([server.upstream]);
    const responses = await Promise.all([1, 2, 3].map((id) => resolve(forwarder, { id })));
    expect(responses.map(({ packet }) => packet.id)).toEqual([1, 2, 3]);
    expect(server.asked).toHaveLength(1);
  });

  it('asks again over TCP where UDP is too small, and cuts the answer for its own client', async () => {
    const many = Array.from({ length: 100 }, (_, i): Answer => ({ ...ADDRESS, data: `192.0.2.${i}` }));
    await using server = await startUpstream((_, transport) =>
      transport === 'udp' ? { flags: 0x200 } : { answers: many },
    );
    const forwarder = forwarderTo([server.upstream]);
    const short = await resolve(forwarder);
    expect(short.packet.flag_tc).toBe(true);
    expect(short.answers.length).toBeGreaterThan(5);
    const whole = await resolve(forwarder, {}, 'tcp');
    expect(whole.packet.flag_tc).toBe(false);
    expect(whole.answers).toHaveLength(100);
    expect(server.asked).toEqual([`udp ${NAME}`, `tcp ${NAME}`]);
  });

  it.each<[string, Answering]>([
    ['cannot answer', () => ({ flags: 2 })],
    ['refuses', () => ({ flags: 5 })],
  ])('asks the next server where one %s', async (_, answering) => {
    await using bad = await startUpstream(answering);
    await using good = await startUpstream(() => ({ answers: [ADDRESS] }));
    const forwarder = forwarderTo([bad.upstream, good.upstream]);
    expect((await resolve(forwarder)).answers).toHaveLength(1);
  });

  it.each<[string, Wrong]>([
    ['with another id', { id: 1 }],
    ['of another name', { questions: [{ type: 'A', name: 'xxx.example.com' }] }],
    ['of another type', { questions: [{ type: 'AAAA', name: NAME }] }],
  ])('takes no response %s', async (_, wrong) => {
    let times = 0;
    await using server = await startUpstream(() => ({ answers: [ADDRESS], ...(times++ === 0 ? wrong : {}) }));
    const clock = new ManualClock();
    const forwarder = forwarderTo([server.upstream], clock);
    const response = resolve(forwarder);
    // Time stands still, so only the lost attempt's deadline can lead to the second one.
    await expect.poll(() => server.asked.length).toBe(1);
    await clock.advance(2000);
    expect((await response).answers).toHaveLength(1);
    expect(server.asked).toHaveLength(2);
  });

  it('fails when no server answers, within the time that clients wait', async () => {
    await using server = await startUpstream(() => undefined);
    const clock = new ManualClock();
    const forwarder = forwarderTo([server.upstream], clock);
    const response = resolve(forwarder);
    await expect.poll(() => server.asked.length).toBe(1);
    expect(forwarder.state().queue).toMatchObject({ adds: 1, unfinishedSeconds: 0 });
    await clock.advance(2000);
    expect(forwarder.state().queue.unfinishedSeconds).toBe(2);
    await expect.poll(() => server.asked.length).toBe(2);
    await clock.advance(2000);
    expect((await response).rcode).toBe('SERVFAIL');
    expect(forwarder.totals.failed).toBe(1);
    expect(forwarder.state()).toMatchObject({
      name: 'forwarding',
      queue: { unfinishedSeconds: 0 },
      reconciles: { total: 1, failed: 1, longestSeconds: 4 },
      decisions: [{ key: { name: NAME }, result: 'failed', error: expect.stringContaining(server.upstream.address) }],
    });
  });

  it('lets the questions of one client fail that are too many, and not those of others', async () => {
    await using server = await startUpstream(() => ({ answers: [ADDRESS] }));
    const forwarder = forwarderTo([server.upstream]);
    const ask = async (address: string) =>
      readResponse(await forwarder.resolve(queryOf(NAME), { address, transport: 'udp' })).rcode;
    const waiting = Array.from({ length: 200 }, () => ask('10.128.4.9'));
    const others = [ask('10.128.4.9'), ask('10.128.4.10')];
    expect(await Promise.all(others)).toEqual(['SERVFAIL', 'NOERROR']);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['NOERROR']));
    const after = await Promise.all(Array.from({ length: 200 }, () => ask('10.128.4.9')));
    expect(new Set(after)).toEqual(new Set(['NOERROR']));
    expect(forwarder.totals.failed).toBe(1);
  });

  it('fails at once without a server', async () => {
    expect((await resolve(forwarderTo([], new ManualClock()))).rcode).toBe('SERVFAIL');
    const nothingListens = { address: '127.0.0.1', port: 1 };
    expect(
      (
        await resolve(
          new Forwarder({
            upstreams: () => [nothingListens],
            clock: systemClock,
            random: () => 0,
            logger: silentLogger,
          }),
        )
      ).rcode,
    ).toBe('SERVFAIL');
  });

  it('adds the records of an external name to the alias', async () => {
    await using server = await startUpstream(() => ({ answers: [ADDRESS] }));
    const forwarder = forwarderTo([server.upstream]);
    const query = queryOf('a.default.svc.cluster.local');
    const alias = {
      answers: [{ owner: 'question', data: { type: 'CNAME', target: NAME } }],
      target: NAME,
    } as const;
    const response = readResponse(await forwarder.resolveAlias(query, alias, CLIENT));
    expect(response.answers).toEqual([`a.default.svc.cluster.local CNAME ${NAME}`, `${NAME} A 192.0.2.1`]);
  });

  it.each<[number, string]>([
    [2, 'SERVFAIL'],
    [5, 'SERVFAIL'],
    [3, 'NXDOMAIN'],
  ])('an alias whose target has the code %i reads as %s, not as a name without addresses', async (code, rcode) => {
    await using server = await startUpstream(() => ({ flags: code }));
    const alias = { answers: [{ owner: 'question', data: { type: 'CNAME', target: NAME } }], target: NAME } as const;
    const query = queryOf('a.default.svc.cluster.local');
    const response = readResponse(await forwarderTo([server.upstream]).resolveAlias(query, alias, CLIENT));
    expect(response.rcode).toBe(rcode);
  });
});
