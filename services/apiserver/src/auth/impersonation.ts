import type { IncomingHttpHeaders } from 'node:http';
import { StatusError } from '@gantry/api';
import type { User } from '../driver.ts';

const ADMINISTRATORS = 'system:masters';
const EXTRA = 'impersonate-extra-';

/**
 * The user that a request acts as: whom its `Impersonate-` headers name, where the one who asks may do that (administrators
 * alone until there is RBAC), otherwise who asks. Throws Forbidden for others, so that nobody acts as himself unawares.
 */
export function impersonated(user: User, headers: IncomingHttpHeaders): User {
  const name = first(headers['impersonate-user']);
  const groups = all(headers['impersonate-group']);
  const uid = first(headers['impersonate-uid']);
  const extra = extraOf(headers);
  const anything = groups.length > 0 || uid !== '' || Object.keys(extra).length > 0;
  if (name === '') {
    if (anything) throw StatusError.badRequest('impersonation of groups, uid or extra without impersonating a user');
    return user;
  }
  if (!user.groups.includes(ADMINISTRATORS)) {
    throw StatusError.forbidden(
      { group: '', resource: 'users' },
      name,
      `User ${JSON.stringify(user.name)} cannot impersonate resource "users" in API group "" at the cluster scope`,
    );
  }
  return { name, uid, groups: groupsOf(name, groups), extra };
}

function groupsOf(name: string, named: readonly string[]): readonly string[] {
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(name) ?? [];
  const own = namespace === undefined ? [] : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  const groups = named.length > 0 ? named : own;
  const everybody = name === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated';
  return groups.includes(everybody) ? groups : [...groups, everybody];
}

function extraOf(headers: IncomingHttpHeaders): Record<string, readonly string[]> {
  const extra: Record<string, readonly string[]> = {};
  for (const [header, value] of Object.entries(headers)) {
    if (!header.startsWith(EXTRA)) continue;
    const key = decodeKey(header.slice(EXTRA.length));
    extra[key] = all(value);
  }
  return extra;
}

function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not escaped after all: then it stands for itself, as in Kubernetes.
    return text;
  }
}

function first(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

/** Repeated headers come joined by commas over HTTP/1.1. */
function all(value: string | string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : value.split(', ')).filter((part) => part !== '');
}
