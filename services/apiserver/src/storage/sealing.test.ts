import { describe, expect, it } from 'vitest';
import { decodeEnvelope, encodeEnvelope, sealedWith } from './envelope.ts';
import { createSealing, fixedKeys, type SealingKey } from './sealing.ts';

const key = (id: string, byte: number): SealingKey => ({ id, secret: Buffer.alloc(32, byte) });
const OLD = key('old', 1);
const NEW = key('new', 2);
const SECRET = '/registry/secrets/n/s';
const envelope = (text: string) => ({
  index: 3,
  writeId: Buffer.alloc(16, 9),
  writer: 'me',
  electionKey: '/gantry/elections/x',
  epoch: 12,
  incarnation: 'i',
  payload: Buffer.from(text),
});

describe('sealing', () => {
  const sealing = createSealing(fixedKeys([NEW, OLD]), ['secrets', 'things.example.org']);
  const stored = encodeEnvelope(SECRET, envelope('{"a":"marker"}'), sealing);

  it('gives back what was sealed, header and all, and shows nothing of it', () => {
    expect(stored.includes('marker')).toBe(false);
    const { payload, ...header } = decodeEnvelope(SECRET, stored, sealing);
    expect(payload.toString()).toBe('{"a":"marker"}');
    expect(header).toMatchObject({ index: 3, writer: 'me', electionKey: '/gantry/elections/x', epoch: 12 });
    expect(sealedWith(stored)).toBe('new');
  });

  it('seals the configured resources, and these alone', () => {
    const keys = [
      'secrets/n/s',
      'example.org/things/n/t',
      'configmaps/n/c',
      'example.org/others/n/o',
      'apps/secrets/n/s',
    ];
    const sealed = keys.filter((one) => sealing.seals(`/registry/${one}`));
    expect(sealed).toEqual(['secrets/n/s', 'example.org/things/n/t']);
    expect(sealing.seals('/gantry/allocations/secrets/x')).toBe(false);
    expect(createSealing(fixedKeys([NEW]), []).seals(SECRET)).toBe(false);
  });

  it('makes something else of the same value each time', () => {
    const again = encodeEnvelope(SECRET, envelope('{"a":"marker"}'), sealing);
    expect(again.equals(stored)).toBe(false);
  });

  it('opens a value at its own key alone', () => {
    expect(() => decodeEnvelope('/registry/secrets/n/other', stored, sealing)).toThrow('does not hold what was sealed');
  });

  it('opens nothing of which a bit was changed, the header included', () => {
    // All bytes except the first two bytes of the format, the length of the header, and the length and id of the key.
    const names = [0, 1, 4, 5];
    let opened = 0;
    for (let at = 0; at < stored.length; at++) {
      if (names.includes(at)) continue;
      const changed = Buffer.from(stored);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => decodeEnvelope(SECRET, changed, sealing)).toThrow(/^unavailable: /);
      opened += 1;
    }
    expect(opened).toBe(stored.length - names.length);
    for (const length of [stored.length - 1, stored.length - 30]) {
      expect(() => decodeEnvelope(SECRET, stored.subarray(0, length), sealing)).toThrow(/^unavailable: /);
    }
  });

  it('reads what an older key has sealed, and what was never sealed', () => {
    const before = createSealing(fixedKeys([OLD]), ['secrets']);
    const old = encodeEnvelope(SECRET, envelope('{}'), before);
    expect(decodeEnvelope(SECRET, old, sealing).payload.toString()).toBe('{}');
    const plain = encodeEnvelope(SECRET, envelope('{}'), createSealing(fixedKeys([OLD]), []));
    expect(sealedWith(plain)).toBeUndefined();
    expect(decodeEnvelope(SECRET, plain, sealing).payload.toString()).toBe('{}');
  });

  it('names the key that is missing', () => {
    const other = createSealing(fixedKeys([OLD]), ['secrets']);
    expect(() => decodeEnvelope(SECRET, stored, other)).toThrow(
      `${SECRET} is sealed with the key "new", which this cluster lacks`,
    );
  });

  it('refuses forms that it does not know', () => {
    const later = Buffer.from(stored);
    later[1] = 2;
    expect(() => decodeEnvelope(SECRET, later, sealing)).toThrow('a format that this version cannot read');
  });
});
