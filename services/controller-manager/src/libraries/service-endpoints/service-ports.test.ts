import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sortEndpointPorts } from './service-ports.ts';

/** FNV-1a with 128 bits, implemented directly from its definition. */
function fnv1a(text: string): bigint {
  let hash = 0x6c62272e07bb014262b821756295c58dn;
  for (const byte of new TextEncoder().encode(text))
    hash = BigInt.asUintN(128, (hash ^ BigInt(byte)) * 0x1000000000000000000013bn);
  return hash;
}

test('ports are in the order of the hash of what Go prints of them', () => {
  const port = fc.record({
    name: fc.string({ unit: 'binary', maxLength: 9 }),
    port: fc.integer({ min: 1, max: 65_535 }),
  });
  fc.assert(
    fc.property(fc.array(port, { minLength: 2, maxLength: 20 }), (ports) => {
      const hashes = sortEndpointPorts(ports).map(({ name = '', port: number }) =>
        fnv1a(
          `(v1.EndpointPort){Name:(string)${name} Port:(int32)${number} Protocol:(v1.Protocol) AppProtocol:(*string)<nil>}`,
        ),
      );
      expect(hashes).toEqual(hashes.toSorted((one, other) => (one < other ? -1 : 1)));
    }),
    { seed: 12, numRuns: 200 },
  );
});
