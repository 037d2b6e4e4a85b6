import { describe, expect, it } from 'vitest';
import { pod, RESOLVER } from '../testing/pods.ts';
import { formatResolvConf, parseResolvConf, podResolver, sandboxDns } from './dns.ts';

const CLUSTER = ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.com'];
type Spec = Parameters<typeof pod>[0];

describe('the resolver of a pod', () => {
  it.each<[string, Spec, readonly [servers: string[], searches: string[], options: string[]] | 'engine']>([
    ['of the cluster without a policy', {}, [['10.96.0.10'], CLUSTER, ['ndots:5']]],
    ['of the cluster', { dnsPolicy: 'ClusterFirst' }, [['10.96.0.10'], CLUSTER, ['ndots:5']]],
    ['of the engine on the network of the host', { dnsPolicy: 'ClusterFirst', hostNetwork: true }, 'engine'],
    [
      'of the cluster on the network of the host',
      { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true },
      [['10.96.0.10'], CLUSTER, ['ndots:5']],
    ],
    ['of the node', { dnsPolicy: 'Default' }, 'engine'],
    [
      'of the node with additions',
      {
        dnsPolicy: 'Default',
        dnsConfig: { nameservers: ['1.1.1.1'], searches: ['a.b'], options: [{ name: 'ndots', value: '2' }] },
      },
      [['127.0.0.11', '1.1.1.1'], ['example.com', 'a.b'], ['ndots:2']],
    ],
    [
      'of the cluster with additions, each once',
      {
        dnsConfig: {
          nameservers: ['1.1.1.1', '10.96.0.10'],
          searches: ['a.b', 'cluster.local'],
          options: [{ name: 'ndots', value: '3' }, { name: 'debug' }, { name: 'timeout', value: '' }],
        },
      },
      [
        ['10.96.0.10', '1.1.1.1'],
        [...CLUSTER, 'a.b'],
        ['ndots:3', 'debug', 'timeout'],
      ],
    ],
    [
      'of nothing but what it says',
      {
        dnsPolicy: 'None',
        dnsConfig: { nameservers: ['1.1.1.1'], searches: ['a.b'], options: [{ name: 'ndots', value: '2' }] },
      },
      [['1.1.1.1'], ['a.b'], ['ndots:2']],
    ],
  ])('is that %s', (_, spec, expected) => {
    const resolver = podResolver(pod(spec), RESOLVER);
    if (expected === 'engine') {
      expect(resolver).toEqual({ kind: 'engine' });
      return;
    }
    const [servers, searches, options] = expected;
    expect(resolver).toEqual({ kind: 'file', config: { servers, searches, options }, omitted: [] });
    expect(sandboxDns(pod(spec))).toEqual({ servers: [], searches: [], options: [] });
  });

  it('on the network of the host adds to what the engine writes', () => {
    const dnsConfig = { nameservers: ['1.1.1.1'], searches: ['a.b'], options: [{ name: 'ndots', value: '2' }] };
    const spec = { hostNetwork: true, dnsConfig } as const;
    expect(podResolver(pod(spec), RESOLVER)).toEqual({ kind: 'engine' });
    expect(sandboxDns(pod(spec))).toEqual({ servers: ['1.1.1.1'], searches: ['a.b'], options: ['ndots:2'] });
    expect(sandboxDns(pod({ ...spec, dnsPolicy: 'None' }))).toEqual({ servers: [], searches: [], options: [] });
  });

  const SEARCHES =
    'Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ';
  const SERVERS =
    'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ';
  const many = (count: number, length: number) =>
    Array.from({ length: count }, (_, i) => String(i).padStart(length, 'x'));

  it.each<[string, Spec, readonly string[]]>([
    [
      'as many servers as fit',
      { dnsPolicy: 'None', dnsConfig: { nameservers: ['1.0.0.1', '1.0.0.2', '1.0.0.3'] } },
      [],
    ],
    [
      'more servers',
      { dnsPolicy: 'None', dnsConfig: { nameservers: ['1.0.0.1', '1.0.0.2', '1.0.0.3', '1.0.0.4'] } },
      [`${SERVERS}1.0.0.1 1.0.0.2 1.0.0.3`],
    ],
    ['as many domains as fit', { dnsPolicy: 'None', dnsConfig: { searches: many(32, 63) } }, []],
    [
      'more domains',
      { dnsPolicy: 'None', dnsConfig: { searches: many(33, 5) } },
      [`${SEARCHES}${many(32, 5).join(' ')}`],
    ],
    [
      'more letters',
      { dnsPolicy: 'None', dnsConfig: { searches: many(32, 64) } },
      [`${SEARCHES}${many(31, 64).join(' ')}`],
    ],
    [
      'a domain too long',
      { dnsPolicy: 'None', dnsConfig: { searches: ['a', 'x'.repeat(254), 'b'] } },
      [`${SEARCHES}a b`],
    ],
  ])('says what was left out of %s', (_, spec, omitted) => {
    expect(podResolver(pod(spec), RESOLVER)).toMatchObject({ kind: 'file', omitted });
  });
});

it.each([
  ['', { servers: [], searches: [], options: [] }],
  [
    'nameserver 1.2.3.4\nnameserver\t5.6.7.8 \n#nameserver 9.9.9.9',
    { servers: ['1.2.3.4', '5.6.7.8'], searches: [], options: [] },
  ],
  ['search a b. .\nsearch c.', { servers: [], searches: ['c'], options: [] }],
  [
    'options ndots:5 attempts:2\noptions ndots:1 debug',
    { servers: [], searches: [], options: ['ndots:1', 'attempts:2', 'debug'] },
  ],
])('reads the resolv.conf %j', (text, config) => {
  expect(parseResolvConf(text)).toEqual(config);
});

it('writes what it reads', () => {
  const text = 'search a b\nnameserver 1.2.3.4\nnameserver 5.6.7.8\noptions ndots:5 debug\n';
  expect(formatResolvConf(parseResolvConf(text))).toBe(text);
  expect(formatResolvConf({ servers: [], searches: [], options: [] })).toBe('');
});
