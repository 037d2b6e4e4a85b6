import { CLOSED_RANGES } from '@gantry/objects';
import { fixedTls } from '@gantry/tls';
import { expect, it } from 'vitest';
import type { RegistryReader, RequestContext } from '../../registry/index.ts';
import { findBackend } from './find-backend.ts';

async function backendAt(ip: string): Promise<unknown> {
  const object = { spec: { containers: [] }, status: { podIPs: [{ ip }] } };
  const registry = { get: () => Promise.resolve({ object }) } as unknown as RegistryReader;
  const tls = fixedTls({ ca: Buffer.from(''), cert: Buffer.from(''), key: Buffer.from('') });
  const where = { resource: 'pods', namespace: 'default', id: 'p' };
  return await findBackend({ registry, tls, random: () => 0 }, {} as RequestContext, where);
}

it.each([
  ...CLOSED_RANGES.map((range) => range.replace(/\/\d+$/, '')),
  '::',
  '::1',
  '::ffff:100.100.100.200',
  'fe80::1',
  'ff02::1',
  '',
])('no pod is reached at %s', async (address) => {
  await expect(backendAt(address)).rejects.toThrow('address not allowed');
});

it.each(['10.128.4.1', '100.100.100.201', '2001:db8::1'])('a pod is reached at %s', async (host) => {
  expect(await backendAt(host)).toMatchObject({ host, port: 80 });
});
