import { createRequest, generateKey } from '@gantry/tls';
import { expect, it } from 'vitest';
import { parseRequest } from './certificate-authority.shell.ts';

it('reads a request of a thousand names, and none that is longer than requests are', async () => {
  const names = Array.from({ length: 1000 }, (_, i) => `pod-${i}.example`);
  const request = await createRequest('CN=a', names, await generateKey());
  expect(await parseRequest(request)).toMatchObject({ commonName: 'a', dnsNames: names });
  expect(await parseRequest(`${' '.repeat(32 * 1024)}${request}`)).toBe('it is longer than 32768 characters');
});
