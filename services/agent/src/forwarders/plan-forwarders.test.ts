import type { Service } from '@gantry/objects';
import { expect, it } from 'vitest';
import {
  MAX_FORWARDED_PORTS,
  MAX_FORWARDERS,
  MAX_NAMESPACE_FORWARDERS,
  planForwarders,
  podsOf,
  wantedForwarders,
} from './plan-forwarders.ts';

const CIDR = '10.128.0.0/20';

type Spec = NonNullable<Service['spec']>;

const service = (name: string, spec: Spec = {}, ip = '10.128.10.7', namespace = 'a'): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace, name, uid: `uid-${namespace}-${name}`, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { type: 'LoadBalancer', ports: [{ port: 80, nodePort: 30_080 }], ...spec },
  status: { loadBalancer: { ingress: [{ ip, ipMode: 'VIP' }] } },
});

const wanted = (...services: readonly Service[]) => wantedForwarders(services, CIDR, 'sha256:1');

it('a Service is forwarded at its own numbers, and has its node ports in reserve', () => {
  const ports = [
    { port: 80, protocol: 'TCP', nodePort: 30_080 },
    { port: 53, protocol: 'UDP', nodePort: 30_053 },
    { port: 99, protocol: 'SCTP', nodePort: 30_099 },
  ];
  expect(wanted(service('s', { ports })).wanted).toMatchObject([
    {
      uid: 'uid-a-s',
      target: '10.128.10.7',
      ports: [
        { protocol: 'tcp', hostPort: 80, port: 80 },
        { protocol: 'udp', hostPort: 53, port: 53 },
      ],
      nodePorts: [
        { protocol: 'tcp', hostPort: 30_080, port: 80 },
        { protocol: 'udp', hostPort: 30_053, port: 53 },
      ],
    },
  ]);
  expect(wanted(service('s', { ports: [{ port: 80 }] })).wanted).toMatchObject([{ nodePorts: [] }]);
});

it.each<readonly [string, Service]>([
  ['of another type', service('s', { type: 'NodePort' })],
  ['without an address', { ...service('s'), status: {} }],
  ['whose address is no load balancer of this host', service('s', {}, '203.0.113.9')],
  ['whose address is a pod', service('s', {}, '10.128.4.1')],
  ['that is being deleted', { ...service('s'), metadata: { name: 's', deletionTimestamp: '2026-01-01T00:00:00Z' } }],
  ['with SCTP alone', service('s', { ports: [{ port: 80, protocol: 'SCTP' }] })],
])('none is wanted for a Service %s', (_, one) => {
  expect(wanted(one).wanted).toEqual([]);
});

it('a namespace and the host have bounds, and older Services come first', () => {
  const many = Array.from({ length: MAX_NAMESPACE_FORWARDERS + 1 }, (_, i) =>
    service(`s${String(i).padStart(3, '0')}`),
  );
  const old = {
    ...service('zzz'),
    metadata: { ...service('zzz').metadata, creationTimestamp: '2025-01-01T00:00:00Z' },
  };
  const found = wanted(...many, old, service('s', {}, '10.128.10.8', 'b'));
  expect(found.omitted.map(({ metadata }) => metadata.name)).toEqual(['s019', 's020']);
  expect(found.wanted.map(({ uid }) => uid)).toContain('uid-b-s');
  const all = Array.from({ length: MAX_FORWARDERS + 1 }, (_, i) => service('s', {}, '10.128.10.8', `n${i}`));
  expect(wanted(...all).wanted).toHaveLength(MAX_FORWARDERS);
  const ports = Array.from({ length: MAX_FORWARDED_PORTS + 1 }, (_, i) => ({ port: i + 1 }));
  expect(wanted(service('s', { ports }))).toMatchObject({ wanted: [], omitted: [{ metadata: { name: 's' } }] });
});

it('a changed Service gets another container, before any other starts; the rest stays', () => {
  const before = wanted(service('s'), service('t', { ports: [{ port: 81 }] }));
  const present = before.wanted.map(({ uid, hash }) => ({ id: `id-${uid}`, uid, hash, state: 'running' as const }));
  expect(planForwarders(before, present, new Set())).toEqual([]);
  const after = wanted(service('s', { ports: [{ port: 82 }] }), service('t', { ports: [{ port: 81 }] }));
  expect(planForwarders(after, present, new Set())).toMatchObject([
    { kind: 'remove', id: 'id-uid-a-s' },
    { kind: 'start', forwarder: { ports: [{ hostPort: 82 }] } },
  ]);
  expect(planForwarders(wanted(), present, new Set()).map(({ kind }) => kind)).toEqual(['remove', 'remove']);
});

it('one that stopped is replaced, and one that the host has refused lately waits', () => {
  const found = wanted(service('s'));
  const [{ uid = '', hash = '' } = {}] = found.wanted;
  const stopped = { id: 'x', uid, hash, state: 'stopped' as const };
  expect(planForwarders(found, [stopped], new Set()).map(({ kind }) => kind)).toEqual(['remove', 'start']);
  expect(planForwarders(found, [], new Set([`${uid} ${hash}`]))).toEqual([]);
  const running = { ...stopped, state: 'running' as const };
  expect(planForwarders(found, [running, { ...running, id: 'y' }], new Set())).toEqual([{ kind: 'remove', id: 'y' }]);
});

it('a new image replaces all', () => {
  const hashes = ['sha256:1', 'sha256:2'].map((image) => wantedForwarders([service('s')], CIDR, image).wanted[0]?.hash);
  expect(hashes[0]).not.toBe(hashes[1]);
});

it('pods are those that agents and the engine connect', () => {
  expect(podsOf(CIDR)).toBe('10.128.4.0-10.128.9.255');
});
