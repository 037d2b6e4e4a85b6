import { describe, expect, it } from 'vitest';
import { errorsOf } from '@gantry/apimachinery';
import { cloneJson, type Service, type ServiceSpec, StatusError } from '@gantry/objects';
import { services } from './service.ts';
import { validateAskedNodePorts } from './spec.ts';

type Annotations = Readonly<Record<string, string>>;

const { applyDefaults, prepareForCreate, prepareForUpdate, validate, validateUpdate } = services.strategy;
const CONTEXT = {
  now: 0,
  user: { name: 'u', uid: '', groups: [], extra: {} },
  warn: () => undefined,
} as Parameters<NonNullable<typeof prepareForCreate>>[1];
const PORTS = [{ port: 80 }];
const HINTS = 'service.kubernetes.io/topology-aware-hints';
const MODE = 'service.kubernetes.io/topology-mode';
const RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges';

function decoded(spec: ServiceSpec, annotations: Annotations = {}): Service {
  const metadata = { name: 's', annotations: { ...annotations } };
  const object: Service = { apiVersion: 'v1', kind: 'Service', metadata, spec: cloneJson(spec) };
  applyDefaults?.(object);
  return object;
}

function created(spec: ServiceSpec, annotations?: Annotations): { object: Service; message: string } {
  const object = decoded({ ports: PORTS, ...spec }, annotations);
  prepareForCreate?.(object, CONTEXT);
  return { object, message: messageOf(errorsOf(validate?.(object))) };
}

/** The result of an update of a stored Service with allocated addresses and ports. */
function updated(old: ServiceSpec, spec: ServiceSpec, annotations?: Annotations): { object: Service; message: string } {
  const before = created(old).object;
  before.status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };
  const object = decoded({ ports: PORTS, ...spec }, annotations);
  prepareForUpdate?.(object, before, CONTEXT);
  const errors = [...errorsOf(validateUpdate?.(object, before)), ...errorsOf(validate?.(object, before))];
  return { object, message: messageOf(errors) };
}

function messageOf(errors: Parameters<typeof StatusError.invalid>[3]): string {
  return errors.length === 0
    ? ''
    : StatusError.invalid('', 'Service', 's', errors).message.replace(/^.*? is invalid: /, '');
}

describe('a new Service is refused', () => {
  it.each<readonly [string, ServiceSpec, Annotations, string]>([
    ['port 10250 of a load balancer', { type: 'LoadBalancer', ports: [{ port: 10_250 }] }, {}, ''],
    [
      'two annotations that differ',
      {},
      { [HINTS]: 'Auto', [MODE]: 'auto' },
      `metadata.annotations[${MODE}]: Invalid value: "auto": must match annotations[${HINTS}] when both are specified`,
    ],
    ['two annotations of one value', {}, { [HINTS]: 'Auto', [MODE]: 'Auto' }, ''],
    [
      'ranges in an annotation without a load balancer',
      {},
      { [RANGES]: ' ' },
      `metadata.annotations[${RANGES}]: Forbidden: may only be used when \`type\` is 'LoadBalancer'`,
    ],
    [
      'a bad range in an annotation',
      { type: 'LoadBalancer' },
      { [RANGES]: '10.0.0.0/8, 10.0.0.1/8' },
      `metadata.annotations[${RANGES}]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length`,
    ],
    [
      'a bad range in an annotation that does not count',
      { type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.0/8'] },
      { [RANGES]: 'bad' },
      '',
    ],
    [
      'a family that the cluster does not have',
      { ipFamilies: ['IPv6'] },
      {},
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ],
    [
      'both families',
      { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' },
      {},
      '[spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services, ' +
        'spec.ipFamilies[1]: Invalid value: "IPv6": not configured on this cluster]',
    ],
    [
      'an address of a family that the cluster does not have',
      { clusterIP: 'fd00::1' },
      {},
      'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
    ],
    [
      'two addresses and families under one',
      { clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9', 'fd00::1'], ipFamilies: ['IPv4', 'IPv6'] },
      {},
      "[spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster " +
        "IPs are specified, spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' " +
        'when multiple IP families are specified]',
    ],
    [
      'two addresses of one family',
      { clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9', '10.96.0.8'] },
      {},
      'spec.clusterIPs: Invalid value: ["10.96.0.9","10.96.0.8"]: may specify no more than one IP for each IP family',
    ],
    [
      'three addresses',
      { clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9', 'fd00::1', '10.96.0.8'] },
      {},
      'spec.clusterIPs: Invalid value: ["10.96.0.9","fd00::1","10.96.0.8"]: may only hold up to 2 values',
    ],
    [
      'two families under one of a Service without a selector',
      { clusterIP: 'None', ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'SingleStack' },
      {},
      "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP " +
        'families are specified',
    ],
    [
      'two port numbers with one node port under one protocol',
      {
        type: 'NodePort',
        ports: [
          { name: 'a', port: 80, nodePort: 30_080 },
          { name: 'b', port: 81, protocol: 'TCP', nodePort: 30_080 },
        ],
      },
      {},
      'spec.ports[1].nodePort: Invalid value: 30080: provided port is already allocated',
    ],
    [
      'two port numbers with one node port under two protocols',
      {
        type: 'NodePort',
        ports: [
          { name: 'a', port: 80, nodePort: 30_080 },
          { name: 'b', port: 81, protocol: 'UDP', nodePort: 30_080 },
        ],
      },
      {},
      'spec.ports[1].nodePort: Invalid value: 30080: provided port is already allocated',
    ],
    [
      'a node port that a port of the number before the first one asks for',
      {
        type: 'NodePort',
        ports: [
          { name: 'a', port: 80, nodePort: 30_080 },
          { name: 'b', port: 81 },
          { name: 'c', port: 81, protocol: 'UDP', nodePort: 30_080 },
        ],
      },
      {},
      'spec.ports[1].nodePort: Invalid value: 30080: provided port is already allocated',
    ],
    [
      'a bad policy for traffic to an external name',
      { type: 'ExternalName', externalName: 'a.b', internalTrafficPolicy: 'Some' },
      {},
      'spec.internalTrafficPolicy: Unsupported value: "Some": supported values: "Cluster", "Local"',
    ],
  ])('or not for %s', (_, spec, annotations, message) => {
    expect(created(spec, annotations).message).toBe(message);
  });
});

describe('a new Service gets', () => {
  it.each<readonly [string, ServiceSpec, ServiceSpec]>([
    ['one family', {}, { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }],
    ['one family where it prefers two', { ipFamilyPolicy: 'PreferDualStack' }, { ipFamilies: ['IPv4'] }],
    ['one family where it is headless', { clusterIP: 'None', selector: { a: 'b' } }, { ipFamilies: ['IPv4'] }],
    [
      'both families where others manage its endpoints',
      { clusterIP: 'None' },
      { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' },
    ],
    [
      'the second family where others manage its endpoints',
      { clusterIP: 'None', ipFamilies: ['IPv6'] },
      { ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'RequireDualStack' },
    ],
    [
      'the family that others manage its endpoints in',
      { clusterIP: 'None', ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' },
      { ipFamilies: ['IPv6'] },
    ],
  ])('%s', (_, spec, expected) => {
    const { object, message } = created(spec);
    expect(message).toBe('');
    expect(object.spec).toMatchObject(expected);
  });

  it('one node port for one number under two protocols, where it asks for that', () => {
    const ports = [
      { name: 'a', port: 53, nodePort: 30_053 },
      { name: 'b', port: 53, protocol: 'UDP', nodePort: 30_053 },
    ];
    expect(created({ type: 'NodePort', ports }).message).toBe('');
  });

  it('no policy for traffic to an external name', () => {
    const { object, message } = created({ type: 'ExternalName', externalName: 'a.b', internalTrafficPolicy: 'Local' });
    expect(message).toBe('');
    expect(object.spec).not.toHaveProperty('internalTrafficPolicy');
  });
});

const ADDRESS = { clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9'] };
const NODE_PORT: ServiceSpec = { ...ADDRESS, type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] };
const EXTERNAL: ServiceSpec = { type: 'ExternalName', externalName: 'a.b' };

describe('an update', () => {
  it.each<readonly [string, ServiceSpec, ServiceSpec, string]>([
    ['may name no address', ADDRESS, {}, ''],
    [
      'may not change the address',
      ADDRESS,
      { clusterIP: '10.96.0.8' },
      'spec.clusterIPs[0]: Invalid value: ["10.96.0.8"]: may not change once set',
    ],
    ['may choose the address of what was an external name', EXTERNAL, { clusterIP: '10.96.0.8' }, ''],
    ['to an external name may repeat the address', ADDRESS, { ...ADDRESS, ...EXTERNAL }, ''],
    [
      'to an external name may clear the address alone',
      ADDRESS,
      { ...EXTERNAL, clusterIP: '', clusterIPs: ['10.96.0.9'] },
      '',
    ],
    [
      'to an external name may not choose another address',
      ADDRESS,
      { ...EXTERNAL, clusterIP: '10.96.0.8', clusterIPs: ['10.96.0.8'] },
      'spec.clusterIPs: Forbidden: may not be set for ExternalName services',
    ],
    [
      'to an external name may not choose other families',
      ADDRESS,
      { ...EXTERNAL, ...ADDRESS, ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' },
      'spec.ipFamilies: Forbidden: may not be set for ExternalName services',
    ],
    [
      'may not release a family without a word',
      { clusterIP: 'None' },
      { clusterIP: 'None', ipFamilies: ['IPv4'] },
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be \'SingleStack\' to release the secondary IP family',
    ],
    [
      'may not bring a selector to both families',
      { clusterIP: 'None' },
      { clusterIP: 'None', selector: { a: 'b' } },
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ],
    [
      'may not bring node ports to an internal Service',
      NODE_PORT,
      { type: 'ClusterIP', ports: [{ port: 80, nodePort: 30_081 }] },
      "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ],
    [
      'may leave node ports of a load balancer that has none allocated',
      { ...NODE_PORT, type: 'LoadBalancer', allocateLoadBalancerNodePorts: false },
      { type: 'ClusterIP', ports: [{ port: 80, nodePort: 30_080 }] },
      '',
    ],
  ])('%s', (_, old, spec, message) => {
    expect(updated(old, spec).message).toBe(message);
  });

  describe('of a Service that is headless and prefers both families', () => {
    const both: ServiceSpec = { clusterIP: 'None', ipFamilyPolicy: 'PreferDualStack' };
    const selecting: ServiceSpec = { ...both, selector: { a: 'b' } };
    it.each<readonly [string, ServiceSpec, ServiceSpec, string, readonly string[]]>([
      ['may bring a selector without a word of families', both, selecting, '', ['IPv4']],
      [
        'may bring a selector and leave the families as they are',
        both,
        { ...selecting, ipFamilies: ['IPv4', 'IPv6'] },
        '',
        ['IPv4', 'IPv6'],
      ],
      [
        'may not release a family with its selector',
        both,
        { ...selecting, ipFamilies: ['IPv4'] },
        'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be \'SingleStack\' to release the secondary IP family',
        ['IPv4'],
      ],
      ['stays in one family without its selector', selecting, { ...both, ipFamilies: ['IPv4'] }, '', ['IPv4']],
      ['gets the second family where it leaves out both', selecting, both, '', ['IPv4', 'IPv6']],
    ])('%s', (_, old, spec, message, families) => {
      const { object, message: said } = updated(old, spec);
      expect(said).toBe(message);
      expect(object.spec?.ipFamilies).toEqual(families);
    });
  });

  it('releases the second family at the word', () => {
    const both: ServiceSpec = { clusterIP: 'None', ipFamilies: ['IPv6', 'IPv4'] };
    const { object, message } = updated(both, { ...both, ipFamilyPolicy: 'SingleStack' });
    expect(message).toBe('');
    expect(object.spec).toMatchObject({ ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' });
  });

  it('keeps node ports that it names, where a load balancer needs none any more', () => {
    const balancer: ServiceSpec = { ...NODE_PORT, type: 'LoadBalancer' };
    const without = updated(balancer, { ...balancer, allocateLoadBalancerNodePorts: false });
    expect(without.object.spec?.ports?.[0]).toMatchObject({ nodePort: 30_080 });
    const unnamed = updated(balancer, { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false });
    expect(unnamed.object.spec?.ports?.[0]).not.toHaveProperty('nodePort');
  });

  it('takes the addresses of a load balancer that is none any more out of the status', () => {
    const balancer: ServiceSpec = { ...NODE_PORT, type: 'LoadBalancer' };
    expect(updated(balancer, balancer).object.status?.loadBalancer?.ingress).toHaveLength(1);
    expect(updated(balancer, { type: 'ClusterIP' }).object.status).toEqual({ loadBalancer: {} });
  });

  it('may leave a bad range in an annotation as it was', () => {
    const before = created({ type: 'LoadBalancer' }, { [RANGES]: 'bad' }).object;
    expect(messageOf(errorsOf(validate?.(before, before)))).toBe('');
  });
});

it('looks at each port of a new Service as often for many ports as for few', () => {
  const looks = (size: number) => {
    let count = 0;
    const counted = {
      name: 'first',
      get port() {
        count++;
        return 1;
      },
    };
    const ports = [counted, ...Array.from({ length: size }, (_, i) => ({ name: `p${i}`, port: i + 2 }))];
    expect(validateAskedNodePorts({ type: 'NodePort', ports })).toEqual([]);
    return count;
  };
  expect(looks(300)).toBe(looks(3));
});
