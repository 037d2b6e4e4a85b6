import type { IncomingHttpHeaders } from 'node:http';
import { StatusError } from '@gantry/objects';
import type { User } from '../user.ts';
import type { AccessDecider } from '../authz/authorizer.ts';

const AUTHENTICATION = 'authentication.k8s.io';
const ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;
const HEADER = 'impersonate-';
const EXTRA = `${HEADER}extra-`;

/**
 * The effective user of a request: the user in its `Impersonate-` headers, else the requester. Throws Forbidden unless the requester may
 * impersonate that user and each named group, uid and extra value.
 */
export function impersonated(user: User, headers: IncomingHttpHeaders, access: Pick<AccessDecider, 'decide'>): User {
  if (!Object.keys(headers).some((header) => header.startsWith(HEADER))) return user;
  const name = first(headers['impersonate-user']);
  const groups = all(headers['impersonate-group']);
  const uid = first(headers['impersonate-uid']);
  const extra = extraOf(headers);
  const anything = groups.length > 0 || uid !== '' || Object.keys(extra).length > 0;
  if (name === '') {
    if (anything) throw StatusError.badRequest('impersonation of groups, uid or extra without impersonating a user');
    return user;
  }
  for (const wanted of wantedRights({ name, groups, uid, extra })) requireImpersonation(user, wanted, access);
  return { name, uid, groups: groupsOf(name, groups), extra };
}

/** One right to impersonate. */
interface Wanted {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

function wantedRights({ name, groups, uid, extra }: User): readonly Wanted[] {
  const [, namespace = '', account = ''] = ACCOUNT.exec(name) ?? [];
  const plain = { group: '', subresource: '', namespace: '' };
  return [
    account === ''
      ? { ...plain, resource: 'users', name }
      : { ...plain, resource: 'serviceaccounts', namespace, name: account },
    ...groups.map((group) => ({ ...plain, resource: 'groups', name: group })),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => ({
        ...plain,
        group: AUTHENTICATION,
        resource: 'userextras',
        subresource: key,
        name: value,
      })),
    ),
    ...(uid === '' ? [] : [{ ...plain, group: AUTHENTICATION, resource: 'uids', name: uid }]),
  ];
}

function requireImpersonation(user: User, wanted: Wanted, access: Pick<AccessDecider, 'decide'>): void {
  const { group, resource, subresource, namespace, name } = wanted;
  const target = { definition: { group, resource }, subresource, namespace, name };
  const { allowed, reason } = access.decide(user, {
    verb: 'impersonate',
    target,
    object: undefined,
    fieldSelector: '',
  });
  if (allowed) return;
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const who = `User ${JSON.stringify(user.name)} cannot impersonate resource ${JSON.stringify(full)}`;
  const text = `${who} in API group ${JSON.stringify(group)} ${where}`;
  throw StatusError.forbidden({ group, resource }, name, reason === '' ? text : `${text}: ${reason}`);
}

function groupsOf(name: string, named: readonly string[]): readonly string[] {
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(name) ?? [];
  const own = namespace === undefined ? [] : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  const groups = named.length > 0 ? named : own;
  const everybody = name === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated';
  return groups.includes(everybody) ? groups : [...groups, everybody];
}

function extraOf(headers: IncomingHttpHeaders): Record<string, readonly string[]> {
  const named = Object.keys(headers).filter((header) => header.startsWith(EXTRA));
  return Object.fromEntries(named.map((header) => [decodeKey(header.slice(EXTRA.length)), all(headers[header])]));
}

function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The text has an invalid escape, so it is used as it is, as in Kubernetes.
    return text;
  }
}

function first(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

/** All values of a header. Over HTTP/1.1, Node.js joins repeated headers with commas. */
function all(value: string | string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : value.split(', ')).filter((part) => part !== '');
}
