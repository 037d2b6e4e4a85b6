import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../values/exact-number.ts';
import { type KubeObject, StatusError } from '@gantry/objects';
import { decodeProtobuf, encodeProtobuf, encodeWatchFrame } from './envelope.ts';

const samples = readFileSync(new URL('../../../../integration-tests/golden/codec.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { kind: string; json: string; protobuf: string });

describe('the recorded objects', () => {
  it.each(samples.map((sample) => [sample.kind, sample] as const))('%s', (kind, sample) => {
    const object = parseJson(sample.json) as KubeObject;
    const bytes = Buffer.from(sample.protobuf, 'base64');
    expect(Buffer.from(encodeProtobuf(object)).equals(bytes)).toBe(true);
    // A StatefulSet's claims are embedded: their kind is not on the wire, and a default restores it.
    if (!kind.startsWith('StatefulSet')) expect(decodeProtobuf(bytes)).toEqual(object);
  });
});

describe('trust bundles, which Kubernetes does not publish', () => {
  const part = (tag: string, text: string) => `${tag}${String.fromCharCode(text.length)}${text}`;

  it('have the messages of Kubernetes', () => {
    const [apiVersion, kind] = ['certificates.k8s.io/v1beta1', 'ClusterTrustBundle'];
    const [metadata, spec] = [{ name: 'a:b:c' }, { signerName: 'a/b', trustBundle: 'x' }];
    const type = `${part('\n', apiVersion)}${part('\x12', kind)}`;
    const meta = `${part('\n', 'a:b:c')}\x12\0\x1a\0"\0*\x002\x008\0B\0`;
    const content = `${part('\n', meta)}${part('\x12', `${part('\n', 'a/b')}${part('\x12', 'x')}`)}`;
    const bytes = Buffer.from(encodeProtobuf({ apiVersion, kind, metadata, spec } as KubeObject));
    expect(bytes.toString('latin1')).toBe(`k8s\0${part('\n', type)}${part('\x12', content)}\x1a\0"\0`);
    expect(decodeProtobuf(bytes)).toMatchObject({ apiVersion, kind, metadata, spec });
  });
});

describe('discovery documents', () => {
  const content = (object: KubeObject | object) => {
    const bytes = Buffer.from(encodeProtobuf(object as KubeObject));
    const type = bytes.readUInt8(5);
    return bytes.subarray(6 + type + 2, -4).toString('latin1');
  };

  it('hold what Go holds by value even when it is empty', () => {
    expect(content({ apiVersion: 'v1', kind: 'APIVersions', versions: ['v1'] })).toBe('\n\x02v1');
    const resources = [{ name: 'a', singularName: '', namespaced: false, kind: 'A', verbs: ['get'] }];
    expect(content({ apiVersion: 'v1', kind: 'APIResourceList', groupVersion: 'v1', resources })).toBe(
      '\n\x02v1\x12\x17\n\x01a\x10\x00\x1a\x01A"\x05\n\x03get2\x00B\x00J\x00R\x00',
    );
  });

  it('leave out what Go holds by pointer', () => {
    const subresources = [{ subresource: 's', verbs: ['get'] }];
    const versions = [{ version: 'v1', resources: [{ resource: 'a', scope: 'Cluster', verbs: [], subresources }] }];
    const list = {
      apiVersion: 'apidiscovery.k8s.io/v2',
      kind: 'APIGroupDiscoveryList',
      items: [{ metadata: {}, versions }],
    };
    expect(content(list)).toContain('B\x08\n\x01s"\x03get');
  });
});

describe('decodeProtobuf', () => {
  const whole = Buffer.from(samples.find(({ kind }) => kind === 'Pod')?.protobuf ?? '', 'base64');

  it('answers anything with an object or a StatusError', () => {
    fc.assert(
      fc.property(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 255 }), fc.boolean(), (at, byte, cut) => {
        const bytes = Buffer.from(cut ? whole.subarray(0, at) : whole);
        if (!cut) bytes[at] = byte;
        try {
          expect(decodeProtobuf(bytes)).toBeTypeOf('object');
        } catch (error) {
          expect(error).toBeInstanceOf(StatusError);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('says what is no envelope', () => {
    expect(() => decodeProtobuf(Buffer.from('{}'))).toThrow(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
  });

  it('carries 64-bit numbers, kinds of meta and lists', () => {
    const objects = [
      { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Failure', code: 404 },
      {
        apiVersion: 'v1',
        kind: 'ConfigMapList',
        metadata: { resourceVersion: '5' },
        items: [{ metadata: { name: 'a' } }],
      },
      { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: { name: 'a', generation: 1 } },
      { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid: 'u' } },
      { apiVersion: 'a.custom.group/v7', kind: 'DeleteOptions', propagationPolicy: 'Orphan' },
    ];
    for (const object of objects) expect(decodeProtobuf(encodeProtobuf(object))).toMatchObject(object);
    const revision = {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: {},
      revision: 9007199254740993n,
      data: null,
    };
    expect(decodeProtobuf(encodeProtobuf(revision))).toEqual(revision);
  });

  it('puts events of a watch into frames', () => {
    const object = encodeProtobuf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } });
    const frame = Buffer.from(encodeWatchFrame('ADDED', object));
    expect(frame.readUInt32BE(0)).toBe(frame.length - 4);
    expect(frame.subarray(4, 11).toString()).toBe('\n\u0005ADDED');
    expect(frame.subarray(-object.length).equals(Buffer.from(object))).toBe(true);
  });
});
