import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import packet, { type Answer, type Packet } from 'dns-packet';
import {
  ENDPOINT_SLICES,
  type ExampleCluster,
  exampleCluster,
  service,
  SERVICES,
  slice,
} from '../testing/example-cluster.ts';
import { EXAMPLE_OBJECTS } from '../testing/example-objects.ts';
import { type Asked, questionPacket, type ReadResponse, readResponse } from '../testing/ask.ts';
import { ReverseZone } from '../zone/reverse-zone.ts';
import { CODES } from '../wire/query.ts';
import { encodeCode, type Transport } from '../wire/response.ts';
import { Responder } from './responder.ts';
import { ZONE_CASES } from './zone-cases.ts';

const ASKED: Packet = { type: 'query', questions: [{ type: 'A', name: 'web.default.svc.cluster.local' }] };
const RECORD: Answer = { type: 'A', name: 'cluster.local', data: '10.0.0.1' };
const reverse = new ReverseZone(['10.96.0.0/16', '10.128.0.0/20']);

describe('the responder', () => {
  let stop: AbortController;
  let cluster: ExampleCluster;
  let responder: Responder;
  let isSynced: boolean;
  /** Names that the host's resolvers have to answer. */
  let outside: string[];

  beforeEach(async () => {
    stop = new AbortController();
    cluster = await exampleCluster(EXAMPLE_OBJECTS, stop.signal);
    isSynced = true;
    outside = [];
    responder = new Responder({
      zone: cluster.zone,
      reverse,
      outside: {
        resolve: (query, { transport }) => {
          outside.push(query.name ?? '?');
          return Promise.resolve(encodeCode(query, CODES.noError, transport));
        },
        resolveAlias: (query, { target }, { transport }) => {
          outside.push(`${query.name ?? '?'} = ${target}`);
          return Promise.resolve(encodeCode(query, CODES.noError, transport));
        },
      },
      isSynced: () => isSynced,
      random: () => 0,
    });
  });
  afterEach(() => stop.abort());

  const respond = async (bytes: Buffer, transport: Transport = 'udp'): Promise<Buffer> => {
    const response = await responder.respond(bytes, transport, '10.128.4.9');
    if (response === undefined) throw new RangeError('there was no response');
    return response;
  };
  const ask = async (name: string, asked: Asked = {}, transport: Transport = 'udp'): Promise<ReadResponse> =>
    readResponse(await respond(questionPacket(name, asked), transport));

  it.each(ZONE_CASES)(
    '$says: $name $type',
    async ({ name, type = 'A', code = 'NOERROR', answers = [], additionals }) => {
      const response = await ask(name, { type });
      expect(response.rcode).toBe(code);
      expect(response.answers.toSorted()).toEqual(answers.toSorted());
      if (additionals !== undefined) expect(response.additionals.toSorted()).toEqual(additionals.toSorted());
      expect(response.packet).toMatchObject({
        id: 7,
        flag_qr: true,
        flag_aa: true,
        flag_ra: true,
        flag_rd: true,
        flag_tc: false,
      });
      const isNegative = response.answers.filter((one) => !one.includes(' CNAME ')).length === 0 && type !== 'CNAME';
      expect(response.authorities.map((one) => one.split(' ')[1])).toEqual(
        isNegative && code !== 'SERVFAIL' ? ['SOA'] : [],
      );
      expect(outside).toEqual([]);
    },
  );

  it.each([
    ['none.default.svc.cluster.local', 'cluster.local'],
    ['77.0.96.10.in-addr.arpa', '96.10.in-addr.arpa'],
    ['77.4.128.10.in-addr.arpa', '4.128.10.in-addr.arpa'],
  ])('says of %s which zone has no such name: %s', async (name, zone) => {
    const { authorities, packet: decoded } = await ask(name);
    expect(authorities).toEqual([`${zone} SOA ns.dns.cluster.local hostmaster.cluster.local`]);
    expect(decoded.authorities?.[0]).toMatchObject({ ttl: 5, data: { minimum: 5, serial: cluster.client.revision } });
  });

  it.each([
    'www.example.com',
    'cluster.local.example.com',
    'xcluster.local',
    '1.1.168.192.in-addr.arpa',
    '128.10.in-addr.arpa',
    '1.16.128.10.in-addr.arpa',
    '',
  ])('leaves %j to the resolvers of the host', async (name) => {
    await ask(name);
    expect(outside).toEqual([name]);
  });

  it('goes on outside of the cluster where an external name leads there', async () => {
    await ask('outside.default.svc.cluster.local');
    expect(outside).toEqual(['outside.default.svc.cluster.local = www.example.com']);
    expect((await ask('outside.default.svc.cluster.local', { type: 'CNAME' })).answers).toEqual([
      'outside.default.svc.cluster.local CNAME www.example.com',
    ]);
  });

  it('knows the name of an endpoint outside of the ranges of the cluster', async () => {
    await cluster.client.put(SERVICES, service('default', 'far', { clusterIP: 'None' }));
    await cluster.client.put(ENDPOINT_SLICES, slice('default', 'far', ['192.168.1.1=far']));
    await cluster.settle();
    const { answers } = await ask('1.1.168.192.in-addr.arpa', { type: 'PTR' });
    expect(answers).toEqual(['1.1.168.192.in-addr.arpa PTR far.far.default.svc.cluster.local']);
  });

  it('fails rather than to deny what it has not read yet', async () => {
    isSynced = false;
    expect((await ask('none.default.svc.cluster.local')).rcode).toBe('SERVFAIL');
    isSynced = true;
    expect((await ask('none.default.svc.cluster.local')).rcode).toBe('NXDOMAIN');
  });

  it('answers from the last state while the API server cannot be reached, and follows it afterwards', async () => {
    const before = await ask('web.default.svc.cluster.local');
    cluster.client.breakWatches();
    expect(await ask('web.default.svc.cluster.local')).toEqual(before);
    await cluster.client.put(SERVICES, service('default', 'new', { clusterIP: '10.96.0.33' }));
    await cluster.clock.advance(60_000);
    expect((await ask('new.default.svc.cluster.local')).answers).toEqual([
      'new.default.svc.cluster.local A 10.96.0.33',
    ]);
  });

  it('shows a change at the next question, though it keeps responses', async () => {
    const name = 'db.default.svc.cluster.local';
    expect((await ask(name)).answers).toHaveLength(2);
    await ask(name);
    expect(responder.totals.source).toMatchObject({ zone: 1, kept: 1 });
    await cluster.client.put(ENDPOINT_SLICES, slice('default', 'db', ['10.128.4.5'], [], 'db-y'));
    await cluster.settle();
    expect((await ask(name)).answers).toHaveLength(3);
  });

  it('gives the addresses of a name in turn', async () => {
    const first = new Set<string>();
    for (let i = 0; i < 2; i++) first.add((await ask('db.default.svc.cluster.local', { id: i })).answers[0] ?? '');
    expect(first.size).toBe(2);
  });

  it('keeps the id and the letters of each question', async () => {
    for (const [id, name] of [
      [1, 'web.default.svc.cluster.local'],
      [2, 'WEB.default.svc.cluster.local'],
      [3, 'web.default.svc.cluster.local'],
    ] as const) {
      const response = await ask(name, { id });
      expect(response.packet.id).toBe(id);
      expect(response.packet.questions?.[0]?.name).toBe(name);
    }
  });

  describe('with many endpoints', () => {
    const name = 'db.default.svc.cluster.local';
    beforeEach(async () => {
      const endpoints = Array.from({ length: 200 }, (_, i) => `10.128.5.${i}`);
      await cluster.client.put(ENDPOINT_SLICES, slice('default', 'db', endpoints, [], 'db-many'));
      await cluster.settle();
    });

    it.each([
      ['no EDNS', undefined, 512],
      ['a small EDNS size', 100, 512],
      ['an EDNS size', 800, 800],
      ['a size that would be cut into fragments', 65_535, 1232],
    ])('says over UDP with %s that it left answers out', async (_, edns, limit) => {
      const bytes = await respond(questionPacket(name, edns === undefined ? {} : { edns }));
      expect(bytes.length).toBeLessThanOrEqual(limit);
      expect(bytes.length).toBeGreaterThan(limit - 16);
      const { packet: decoded, answers } = readResponse(bytes);
      expect(decoded.flag_tc).toBe(true);
      expect(answers.length).toBeGreaterThan(20);
      expect(decoded.additionals?.length).toBe(edns === undefined ? 0 : 1);
    });

    it('gives all of them over TCP', async () => {
      const { packet: decoded, answers } = await ask(name, {}, 'tcp');
      expect(decoded.flag_tc).toBe(false);
      expect(answers).toHaveLength(202);
    });
  });

  it.each([
    ['a version of EDNS that does not exist', { ednsVersion: 1 }, { rcode: 'NOERROR', extendedRcode: 1 }],
    ['EDNS', { ednsVersion: 0 }, { rcode: 'NOERROR', extendedRcode: 0 }],
  ])('answers %s with its own', async (_, { ednsVersion }, { rcode, extendedRcode }) => {
    const bytes = questionPacket('web.default.svc.cluster.local', { edns: 4096 });
    // The version is the fourth byte from the end of the OPT record's fixed part.
    bytes[bytes.length - 5] = ednsVersion;
    const response = readResponse(await respond(bytes));
    expect(response.rcode).toBe(rcode);
    expect(response.packet.additionals).toMatchObject([{ type: 'OPT', udpPayloadSize: 1232, extendedRcode }]);
    expect(response.answers).toHaveLength(ednsVersion === 0 ? 1 : 0);
  });

  it.each([
    ['a whole zone', () => questionPacket('cluster.local', { type: 'AXFR' }), 'REFUSED'],
    [
      'another class',
      () => packet.encode({ questions: [{ type: 'TXT', class: 'CH', name: 'version.bind' }] }),
      'REFUSED',
    ],
    ['an update', () => withByte(questionPacket('cluster.local'), 2, 5 << 3), 'NOTIMP'],
    ['two questions', () => withByte(questionPacket('cluster.local'), 5, 2), 'FORMERR'],
    ['no question', () => withByte(questionPacket('cluster.local'), 5, 0), 'FORMERR'],
    ['a question that has answers', () => withByte(questionPacket('cluster.local'), 6, 0xff), 'FORMERR'],
    ['an answer in place of a question', () => packet.encode({ ...ASKED, answers: [RECORD] }), 'FORMERR'],
    ['records of an authority', () => packet.encode({ ...ASKED, authorities: [RECORD] }), 'FORMERR'],
    [
      'more records than a question needs',
      () => packet.encode({ ...ASKED, additionals: [RECORD, RECORD, RECORD] }),
      'FORMERR',
    ],
    ['a name that ends early', () => questionPacket('cluster.local').subarray(0, 20), 'FORMERR'],
    ['a name that points into the header', () => compressed(questionPacket('cluster.local')), 'FORMERR'],
    ['a name that points to itself', () => withByte(questionPacket('cluster.local'), 12, 0xc0), 'FORMERR'],
  ])('refuses %s', async (_, bytes, code) => {
    const response = readResponse(await respond(bytes()));
    expect(response.rcode).toBe(code);
    expect(response.packet.flag_qr).toBe(true);
    expect(outside).toEqual([]);
  });

  it.each([
    ['a response, which would be answered without end', withByte(questionPacket('cluster.local'), 2, 0x80)],
    ['less than a header', Buffer.alloc(11)],
  ])('does not answer %s', (_, bytes) => {
    expect(responder.respond(bytes, 'udp', '10.128.4.9')).toBeUndefined();
  });

  it('takes a label with a dot in it for no name of the cluster', async () => {
    const bytes = questionPacket('web-default.svc.cluster.local');
    bytes[bytes.indexOf('-')] = 0x2e;
    await respond(bytes);
    expect(outside).toEqual(['?']);
  });
});

function withByte(bytes: Buffer, at: number, value: number): Buffer {
  bytes[at] = value;
  return bytes;
}

/** The name is a pointer to the fourth byte, which is zero. */
function compressed(bytes: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, 12), Buffer.from([0xc0, 0x04, 0, 1, 0, 1])]);
}
