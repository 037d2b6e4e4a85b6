import fc from 'fast-check';
import packet from 'dns-packet';
import { afterEach, beforeEach, describe, it } from 'vitest';
import { type ExampleCluster, exampleCluster } from '../testing/example-cluster.ts';
import { EXAMPLE_OBJECTS } from '../testing/example-objects.ts';
import { questionPacket } from '../testing/ask.ts';
import { readReceived, receivedAnswers, relay } from '../forward/upstream-packet.ts';
import { CODES, readQuery } from '../wire/query.ts';
import { encodeCode, sizeLimit, type Transport } from '../wire/response.ts';
import { ReverseZone } from '../zone/reverse-zone.ts';
import { Responder } from './responder.ts';
import { ZONE_CASES } from './zone-cases.ts';

const RUNS = { numRuns: 3000 };

/** Arbitrary bytes, most of them after the header of a question, and questions with some changed bytes. */
const hostile = fc.oneof(
  fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
  fc
    .tuple(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 0, max: 3 }))
    .map(([bytes, additionals]) => Buffer.concat([Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, additionals]), bytes])),
  fc
    .record({
      asked: fc.constantFrom(...ZONE_CASES),
      edns: fc.option(fc.integer({ min: 0, max: 65_535 }), { nil: undefined }),
      changes: fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 6 }),
      cut: fc.nat(),
    })
    .map(({ asked, edns, changes, cut }) => {
      const options = { type: asked.type ?? 'A', ...(edns === undefined ? {} : { edns }) };
      const bytes = questionPacket(asked.name, options);
      for (const [at, value] of changes) bytes[at % bytes.length] = value;
      return cut % 5 === 0 ? bytes.subarray(0, cut % bytes.length) : bytes;
    }),
);

describe('whatever arrives', () => {
  let stop: AbortController;
  let cluster: ExampleCluster;
  let responder: Responder;
  beforeEach(async () => {
    stop = new AbortController();
    cluster = await exampleCluster(EXAMPLE_OBJECTS, stop.signal);
    responder = new Responder({
      zone: cluster.zone,
      reverse: new ReverseZone(['10.96.0.0/16', '10.128.0.0/20']),
      outside: {
        resolve: (query, { transport }) => Promise.resolve(encodeCode(query, CODES.noError, transport)),
        resolveAlias: (query, _, { transport }) => Promise.resolve(encodeCode(query, CODES.noError, transport)),
      },
      isSynced: () => true,
      random: () => 0.5,
    });
  });
  afterEach(() => stop.abort());

  it('the responder does not fail, and what it sends is a response of the right size to that packet', async () => {
    await fc.assert(
      fc.asyncProperty(hostile, fc.constantFrom<Transport>('udp', 'tcp'), async (bytes, transport) => {
        const response = await responder.respond(bytes, transport, '10.128.4.9');
        if (response === undefined) return true;
        packet.decode(response);
        const read = readQuery(bytes);
        const limit = read.kind === 'query' ? sizeLimit(read.query, transport) : 12;
        return (
          response.length <= limit &&
          response.readUInt16BE(0) === bytes.readUInt16BE(0) &&
          ((response[2] ?? 0) & 0x80) !== 0
        );
      }),
      RUNS,
    );
  });

  it('a response of a resolver is read or not, and relayed within the size', () => {
    const asked = readQuery(questionPacket('www.example.com', { edns: 512 }));
    if (asked.kind !== 'query') throw new RangeError('the question is one');
    const { query } = asked;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 700 }), fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)), (tail, counts) => {
        const [answers, authorities, additionals] = counts;
        const header = Buffer.from([0, 7, 0x81, 0x80, 0, 1, 0, answers, 0, authorities, 0, additionals]);
        const bytes = Buffer.concat([header, query.bytes.subarray(12, query.questionEnd), tail]);
        const received = readReceived(bytes, 7, query);
        if (received === undefined) return true;
        try {
          receivedAnswers(received, 3);
        } catch (error) {
          // The library cannot read this. The forwarder answers with a failure.
          if (!(error instanceof Error)) throw error;
        }
        return relay(received, query, 'udp', 3).length <= 512;
      }),
      RUNS,
    );
  });
});
