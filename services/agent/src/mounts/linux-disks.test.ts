import { expect, it } from 'vitest';
import { deviceNumber } from './linux-disks.ts';

it.each([
  [0x0801, '8:1'],
  [0x7ff, '7:255'],
  // The same value as glibc's makedev(259, 300).
  [0x11032c, '259:300'],
])('the number of the device %i is %s in the table of mounts', (rdev, number) => {
  expect(deviceNumber(rdev)).toBe(number);
});
