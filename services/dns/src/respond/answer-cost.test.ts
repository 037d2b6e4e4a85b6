import { describe, expect, it, onTestFinished } from 'vitest';
import { exampleCluster, namespace, service, slice } from '../testing/example-cluster.ts';
import { type Asked, questionPacket, readResponse } from '../testing/ask.ts';
import { ReverseZone } from '../zone/reverse-zone.ts';
import { Responder, type ZoneView } from './responder.ts';

const DB = 'db.default.svc.cluster.local';
const SLICE_SIZE = 1000;

/** A responder for a headless Service with this many endpoints and ports, and a counter of what its answers read of them. */
async function responderFor(endpoints: number, ports: number) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const served = Array.from({ length: ports }, (_, i) => ({ name: `p${i}`, port: 1000 + i }));
  const objects = [namespace('default'), service('default', 'db', { clusterIP: 'None', ports: served })];
  for (let first = 0; first < endpoints; first += SLICE_SIZE) {
    const addresses = Array.from({ length: SLICE_SIZE }, (_, i) => `10.128.${(first + i) >> 8}.${(first + i) & 255}`);
    objects.push(slice('default', 'db', [...addresses, `10.129.0.1=n${first}`], served, `db-${first}`));
  }
  const { zone } = await exampleCluster(objects, stop.signal);
  const counter = { reads: 0 };
  const responder = new Responder({
    zone: counting(zone, counter),
    reverse: new ReverseZone(['10.96.0.0/16', '10.128.0.0/9']),
    outside: { resolve: () => Promise.reject(new Error()), resolveAlias: () => Promise.reject(new Error()) },
    isSynced: () => true,
    random: () => 0.5,
  });
  return { responder, counter };
}

/** A zone that counts every address, label and port that is read of its endpoints. */
function counting(zone: ZoneView, counter: { reads: number }): ZoneView {
  const counted = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (of, property) => {
        const value: unknown = Reflect.get(of, property, of);
        if (typeof property === 'string' && /^\d+$/.test(property)) counter.reads += 1;
        return typeof value === 'function' ? value.bind(of === target ? counted(of) : of) : value;
      },
    });
  const each = function* <T>(values: Iterable<T>): Iterable<T> {
    for (const value of values) {
      counter.reads += 1;
      yield value;
    }
  };
  return {
    get generation() {
      return zone.generation;
    },
    service: (...key) => zone.service(...key),
    ports: (of) => zone.ports(of),
    hasNamespace: (name) => zone.hasNamespace(name),
    hasPod: (...pod) => zone.hasPod(...pod),
    servicesAt: (address) => zone.servicesAt(address),
    serial: () => zone.serial(),
    endpointsAt: (address) => each(zone.endpointsAt(address)),
    endpoints: (...key) => {
      const found = zone.endpoints(...key);
      return {
        addresses: counted(found.addresses),
        labelled: (label) => counted(found.labelled(label)),
        slicesWith: function* (port) {
          for (const { labels, ports } of each(found.slicesWith(port))) {
            yield { labels: counted(labels), ports: { get: (name) => each(ports.get(name) ?? []) } };
          }
        },
      };
    },
  };
}

describe.each([
  { asked: 'addresses', name: DB, type: 'A' },
  { asked: 'all ports', name: DB, type: 'SRV' },
  { asked: 'a port', name: `_p1._tcp.${DB}`, type: 'SRV' },
  { asked: 'a protocol', name: `_tcp.${DB}`, type: 'SRV' },
  { asked: 'everything', name: DB, type: 'ANY' },
  { asked: 'an endpoint', name: `10-128-0-7.${DB}`, type: 'A' },
  { asked: 'a name that does not exist', name: `nobody.${DB}`, type: 'A' },
  { asked: 'a port that does not exist', name: `_none._tcp.${DB}`, type: 'SRV' },
  { asked: 'the names of an address', name: '1.0.129.10.in-addr.arpa', type: 'PTR' },
] as const)('a question for $asked', ({ name, type }) => {
  it('reads as much as is sent, not as there is', async () => {
    const asked: Asked = { type, edns: 1232 };
    const reads: number[] = [];
    for (const endpoints of [1000, 16_000]) {
      const { responder, counter } = await responderFor(endpoints, 20);
      const response = responder.respond(questionPacket(name, asked), 'udp', '10.128.4.9');
      if (!(response instanceof Buffer)) throw new RangeError('the answer is not in memory');
      const { answers, additionals } = readResponse(response);
      reads.push(counter.reads);
      // To weigh ports, 51 of them are read. Each name in an answer is looked up.
      expect(counter.reads).toBeLessThan(200 + 4 * (answers.length + additionals.length));
    }
    expect(Math.max(...reads)).toBeLessThan(400);
  });
});

it('an answer over TCP does not read the product of endpoints and ports', async () => {
  const { responder, counter } = await responderFor(4000, 1000);
  const response = responder.respond(questionPacket(DB, { type: 'SRV' }), 'tcp', '10.128.4.9');
  expect(response).toBeInstanceOf(Buffer);
  expect(counter.reads).toBeLessThan(10_000);
});
