import { expect, it } from 'vitest';
import type { ServiceSpec } from '@gantry/objects';
import { serviceWarnings } from './warnings.ts';

it.each<readonly [string, ServiceSpec, readonly string[]]>([
  ['an ordinary one', { type: 'ClusterIP', clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] }, []],
  [
    'a headless one',
    { type: 'ClusterIP', clusterIP: 'None', sessionAffinity: 'ClientIP', externalIPs: ['1.2.3.4'] },
    ['spec.externalIPs is ignored for headless services', 'spec.SessionAffinity is ignored for headless services'],
  ],
  [
    'external addresses',
    { type: 'ClusterIP', externalIPs: ['1.2.3.4'] },
    ['spec.externalIPs is deprecated and may no longer be implemented in some clusters'],
  ],
  [
    'a range in another form',
    { type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.1/8'] },
    [
      'spec.loadBalancerSourceRanges[0]: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
    ],
  ],
  [
    'a name outside',
    { type: 'ExternalName', externalName: 'a.b', externalIPs: ['1.2.3.4'] },
    ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
  ],
  [
    'a name in vain',
    { type: 'ClusterIP', externalName: 'a.b' },
    ['spec.externalName is ignored when spec.type is not "ExternalName"'],
  ],
  [
    'an old distribution',
    { type: 'ClusterIP', trafficDistribution: 'PreferClose' },
    ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
  ],
])('warns about %s', (_name, spec, warnings) => {
  expect(serviceWarnings({ metadata: {}, spec } as Parameters<typeof serviceWarnings>[0])).toEqual(warnings);
});
