import { expect, it } from 'vitest';
import { authenticated } from './identity.ts';
import { impersonated } from './impersonation.ts';

const bob = authenticated('bob', []);

it('asks for the right to each part of the user that a request acts as', () => {
  const headers = {
    'impersonate-user': 'jane',
    'impersonate-group': 'devs, system:masters',
    'impersonate-uid': '7',
    'impersonate-extra-scopes': 'a, b',
  };
  const all = [
    'users jane',
    'groups devs',
    'groups system:masters',
    'uids 7',
    'userextras/scopes a',
    'userextras/scopes b',
  ];
  const act = (allowed: readonly string[]) =>
    impersonated(bob, headers, {
      decide: (_user, { target: { definition, subresource, name } }) => {
        const resource = subresource === '' ? definition.resource : `${definition.resource}/${subresource}`;
        return { allowed: allowed.includes(`${resource} ${name}`), reason: '' };
      },
    });
  expect(act(all)).toMatchObject({ name: 'jane', groups: ['devs', 'system:masters', 'system:authenticated'] });
  for (const missing of all) {
    const rest = all.filter((right) => right !== missing);
    expect(() => act(rest), missing).toThrow('User "bob" cannot impersonate resource');
  }
});
