import { describe, expect, it } from 'vitest';
import { createAuthenticator } from './authenticator.ts';
import { authenticated } from './identity.ts';

const certificate = { subject: { CN: 'jane', O: ['dev'] }, raw: new Uint8Array([1]) };
const authenticate = createAuthenticator([
  { authenticate: (token) => Promise.resolve(token === 'good' ? authenticated('joe', []) : undefined) },
]);
const userOf = async (of: Parameters<typeof authenticate>[0]) => (await authenticate(of)).name;

describe('the authenticator', () => {
  it('knows users by certificate first, then by token, and all others as anonymous', async () => {
    expect(await userOf({ certificate, authorization: 'Bearer good' })).toBe('jane');
    expect(await userOf({ certificate: undefined, authorization: 'bearer good' })).toBe('joe');
    expect(await userOf({ certificate: 'untrusted', authorization: 'Bearer good' })).toBe('joe');
    expect(await userOf({ certificate: undefined, authorization: undefined })).toBe('system:anonymous');
  });

  it('refuses bad credentials, and does not take their sender for anonymous', async () => {
    const unauthorized = { reason: 'Unauthorized' };
    const bad = { certificate: undefined, authorization: 'Bearer bad' };
    await expect(authenticate(bad)).rejects.toMatchObject(unauthorized);
    await expect(authenticate({ certificate: 'untrusted', authorization: undefined })).rejects.toMatchObject(
      unauthorized,
    );
    const nameless = { subject: {}, raw: new Uint8Array([2]) };
    await expect(authenticate({ certificate: nameless, authorization: undefined })).rejects.toMatchObject(unauthorized);
  });
});
