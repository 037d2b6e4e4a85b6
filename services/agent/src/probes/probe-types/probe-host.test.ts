import { networkInterfaces } from 'node:os';
import { CLOSED_RANGES } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { probeLookup } from './probe-host.ts';

const of = (address: string, cidr: string) => ({
  address,
  cidr,
  netmask: '',
  mac: '',
  internal: false,
  family: 'IPv4' as const,
});
const INTERFACES = { eth0: [of('10.128.240.7', '10.128.240.7/24')], eth1: [of('10.128.0.5', '10.128.0.5/20')] };
const POD = { address: '10.128.6.118', network: 'pod' as const };

describe('the host of a probe', () => {
  it.each([
    '10.128.240.2',
    '127.0.0.1',
    '127.8.8.8',
    ...CLOSED_RANGES.map((range) => range.replace(/\/\d+$/, '')),
    '::1',
    '::',
    'fe80::1',
    '::ffff:169.254.169.254',
    '::ffff:100.100.100.200',
    '::ffff:10.128.240.2',
  ])('is not %s', (host) => {
    expect(() => probeLookup(POD, INTERFACES).check(host)).toThrow(`probes of this pod may not reach ${host}`);
  });

  it.each(['10.128.6.118', '10.128.0.9', '192.0.2.1', '2001:db8::1'])('may be %s', (host) => {
    probeLookup(POD, INTERFACES).check(host);
  });

  it('of a pod on the host’s network may be anywhere', () => {
    probeLookup({ ...POD, network: 'host' }, INTERFACES).check('127.0.0.1');
  });

  it.each(['localhost', '2130706433', '0x7f.1', '127.1'])(
    'does not lead to a closed address by the name %s',
    async (name) => {
      const failed = new Promise((resolve) => {
        probeLookup(POD, networkInterfaces()).lookup(name, { all: true }, (error) => resolve(error));
      });
      expect(await failed).toMatchObject({ message: expect.stringContaining('probes of this pod may not reach') });
    },
  );
});
