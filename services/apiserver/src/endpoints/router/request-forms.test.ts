import { describe, expect, it } from 'vitest';
import { ANONYMOUS } from '../../auth/authn/identity.ts';
import type { Route } from '../request-info.ts';
import { auditedRequest } from './audited-request.ts';
import { flowRequestOf } from './flow-request.ts';

const MISSING: Route = { kind: 'missing' };
const query = new URLSearchParams();

describe('a request for a resource that is not served', () => {
  const asked = { method: 'GET', path: '/api/v1/namespaces/n/things/a/status', query };
  const attributes = { kind: 'resource', verb: 'get', group: '', resource: 'things', subresource: 'status' };

  it('is one for that resource to flow schemas and to the audit log', () => {
    expect(flowRequestOf(ANONYMOUS, asked, MISSING, 'local')).toMatchObject({ ...attributes, namespace: 'n' });
    expect(auditedRequest(asked, MISSING)).toMatchObject({ ...attributes, namespace: 'n', name: 'a' });
  });

  it('is none to flow schemas where it would last', () => {
    expect(flowRequestOf(ANONYMOUS, { ...asked, path: '/api/v1/things/a/proxy' }, MISSING, 'local')).toBe(undefined);
  });

  it('is one for a path where that is no resource', () => {
    const other = { ...asked, path: '/other' };
    expect(flowRequestOf(ANONYMOUS, other, { kind: 'other' }, 'local')).toMatchObject({ kind: 'path', verb: 'get' });
  });
});
