import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { authenticated, userOfIdentity } from './identity.ts';
import type { User } from '../user.ts';
import { createAuthorizer } from '../authz/authorizer.ts';
import { impersonated as impersonatedBy } from './impersonation.ts';
import { bootstrapPolicy } from '../rbac/testing.ts';

const access = createAuthorizer(
  { get: () => undefined, podsOnNode: () => [], ingressesIn: () => [], hasExpired: () => true },
  bootstrapPolicy(),
);
const impersonated = (user: User, headers: IncomingHttpHeaders) => impersonatedBy(user, headers, access);

const admin = userOfIdentity('kubernetes-admin', ['system:masters']);
const bob = authenticated('bob', []);

describe('impersonated', () => {
  it('is the requester without impersonation headers', () => {
    expect(impersonated(bob, {})).toBe(bob);
  });

  it('is whom an administrator names, with the groups of that kind of user', () => {
    expect(impersonated(admin, { 'impersonate-user': 'bob', 'impersonate-group': 'a, b' })).toMatchObject({
      name: 'bob',
      groups: ['a', 'b', 'system:authenticated'],
    });
    expect(impersonated(admin, { 'impersonate-user': 'system:serviceaccount:ns:x' }).groups).toEqual([
      'system:serviceaccounts',
      'system:serviceaccounts:ns',
      'system:authenticated',
    ]);
  });

  it('is refused to others, and without a user', () => {
    expect(() => impersonated(bob, { 'impersonate-user': 'kubernetes-admin' })).toThrow('cannot impersonate');
    expect(() => impersonated(admin, { 'impersonate-group': 'system:masters' })).toThrow(
      'without impersonating a user',
    );
  });
});
