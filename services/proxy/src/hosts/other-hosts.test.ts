import { must } from '@gantry/base';
import { parseIpv4Range } from '@gantry/objects';
import { expect, test } from 'vitest';
import { planService } from '../rules/plan-service.ts';
import { service, topology } from '../testing/services.ts';
import { reachOf } from './other-hosts.ts';

const { podRange } = topology();
const clusterRange = must(parseIpv4Range('10.128.0.0/16'), 'a range');

test.each([
  ['', true],
  ['192.0.2.1', false],
])(
  'with the address %j for other hosts, addresses of Services beside its pods lead to a Service: %s',
  (hostAddress, leads) => {
    const { clusterRange: closed } = reachOf({ hostAddress, podRange, clusterRange });
    const { elements } = planService(service({ externalIPs: ['10.128.100.5'] }), [], {
      ...topology(),
      clusterRange: closed,
    });
    expect(elements.some(({ key }) => key.startsWith('10.128.100.5 '))).toBe(leads);
  },
);
