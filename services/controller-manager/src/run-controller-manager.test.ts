import { expect, test } from 'vitest';
import { firstAddress } from './run-controller-manager.ts';

test('the first address follows the network address', () => {
  expect(firstAddress('10.96.0.0/16')).toBe('10.96.0.1');
  expect(firstAddress('10.97.255.7/12')).toBe('10.96.0.1');
});

test.each(['10.96.0.0', '10.96.0.0/31', '300.0.0.0/16', 'fd00::/108'])('%s is refused by name', (cidr) => {
  expect(() => firstAddress(cidr)).toThrow('GANTRY_SERVICE_CIDR');
});
