import { expect, it } from 'vitest';
import { SECRETS, SERVICES } from '../index.ts';
import { differences, endState } from './end-state.ts';

const secret = (name: string, rest: object = {}) => ({
  resource: SECRETS,
  object: {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'a', uid: name, resourceVersion: '7' },
    ...rest,
  },
});
const generated = (name: string) => {
  const { resource, object } = secret(name);
  return { resource, object: { ...object, metadata: { ...object.metadata, generateName: 's-' } } };
};

it('compares objects without what depends on time', () => {
  expect(differences(endState([secret('x')]), endState([{ ...secret('x'), resource: SECRETS }]))).toEqual([]);
  expect(differences(endState([generated('s-1')]), endState([generated('s-2')]))).toEqual([]);
  expect(differences(endState([secret('x', { type: 'a' })]), endState([secret('x', { type: 'b' })]))).toHaveLength(2);
});

it('counts objects with generated names', () => {
  const [line] = endState([generated('s-1')]);
  expect(differences(endState([generated('s-1')]), endState([generated('s-1'), generated('s-2')]))).toEqual([
    `not expected: ${line}`,
  ]);
  expect(differences(endState([generated('s-1'), generated('s-2')]), endState([generated('s-1')]))).toEqual([
    `missing: ${line}`,
  ]);
});

it('does not compare addresses of Services, but whether they have one', () => {
  const service = (clusterIP: string) => {
    const spec = { clusterIP, clusterIPs: [clusterIP] };
    return [{ ...secret('x', { kind: 'Service', spec }), resource: SERVICES }];
  };
  expect(differences(endState(service('10.0.0.1')), endState(service('10.0.0.2')))).toEqual([]);
  expect(differences(endState(service('10.0.0.1')), endState(service('None')))).toHaveLength(2);
});

it('compares which Service an address is of, wherever it stands', () => {
  const service = (name: string, ...clusterIPs: string[]) => {
    return { ...secret(name, { kind: 'Service', spec: { clusterIPs } }), resource: SERVICES };
  };
  const state = (address: string, other: string, text: string) => {
    return endState([service('x', address, 'fd00::1'), service('y', other), secret('z', { data: { text } })]);
  };
  const one = state('10.0.0.1', '10.0.0.2', 'http://10.0.0.1:80 fd00::1');
  expect(one[0]).toContain('http://(IP of a/x):80 (IP of a/x)');
  expect(differences(one, state('10.0.0.2', '10.0.0.1', 'http://10.0.0.2:80 fd00::1'))).toEqual([]);
  expect(differences(one, state('10.0.0.1', '10.0.0.2', 'http://10.0.0.2:80 fd00::1'))).toHaveLength(2);
  expect(differences(one, state('10.0.0.1', '10.0.0.2', 'http://10.0.0.10:80 fd00::1'))).toHaveLength(2);
});

it('does not compare the random name of the volume with the token of a pod', () => {
  const pod = (name: string) => [secret('x', { spec: { volumes: [{ name }] } })];
  expect(differences(endState(pod('kube-api-access-abcde')), endState(pod('kube-api-access-12345')))).toEqual([]);
  expect(differences(endState(pod('other-abcde')), endState(pod('other-12345')))).toHaveLength(2);
});

it('does not compare uids, wherever they are', () => {
  const named = (uid: string) => [secret('x', { data: { owner: `of ${uid}` } })];
  const [one, other] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];
  expect(differences(endState(named(one)), endState(named(other)))).toEqual([]);
  expect(differences(endState(named('1')), endState(named('2')))).toHaveLength(2);
});
