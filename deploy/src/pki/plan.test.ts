import { expect, test } from 'vitest';
import { type FoundCertificate, planCertificates } from './plan.ts';
import { fixedRoles, type Role } from './roles.ts';

const DAY_MS = 86_400_000;
const roles = fixedRoles({ etcdMembers: ['etcd-0'], serviceCidr: '10.96.0.0/16' });

function asWanted(role: Role, notBefore: number, notAfter: number): FoundCertificate {
  return { state: 'usable', ...role.certificate, notBefore, notAfter };
}

test('an empty folder gets every certificate, and a second plan is empty', () => {
  const now = 1_000 * DAY_MS;
  const issues = planCertificates(roles, new Map(), now);
  expect(issues.map((issue) => issue.role.folder)).toEqual(roles.map((role) => role.folder));
  const made = new Map(roles.map((role) => [role.folder, asWanted(role, now, now + 365 * DAY_MS)]));
  expect(planCertificates(roles, made, now)).toEqual([]);
});

test('a certificate with less than a third of its life left is renewed', () => {
  const made = new Map(roles.map((role) => [role.folder, asWanted(role, 0, 300 * DAY_MS)]));
  expect(planCertificates(roles, made, 199 * DAY_MS)).toEqual([]);
  expect(planCertificates(roles, made, 201 * DAY_MS).map((issue) => issue.why)).toContain('it runs out soon');
});

test('a certificate for other names is replaced', () => {
  const made = new Map(
    roles.map((role) => [
      role.folder,
      { ...asWanted(role, 0, 300 * DAY_MS), dnsNames: ['elsewhere'] } as FoundCertificate,
    ]),
  );
  expect(planCertificates(roles, made, DAY_MS).every((issue) => issue.why === 'its names have changed')).toBe(true);
});

test("the API server's certificate names the first address of the Services' range", () => {
  const [apiserver] = fixedRoles({ etcdMembers: [], serviceCidr: '10.97.3.255/24' }).filter(
    ({ certificate }) => certificate.commonName === 'system:apiserver' && certificate.ipAddresses.length > 0,
  );
  expect(apiserver?.certificate.ipAddresses).toContain('10.97.3.1');
});

test('users of etcd and servers of agents are certified by authorities of their own', () => {
  const of = (folder: string) => roles.find((role) => role.folder === folder);
  for (const folder of ['etcd-0', 'apiserver-etcd', 'scheduler-etcd', 'controller-manager-etcd']) {
    expect(of(folder)).toMatchObject({ authority: 'etcd', trusts: 'etcd' });
  }
  expect(of('apiserver-agents')).toMatchObject({ authority: 'cluster', trusts: 'nodes' });
  expect(roles.filter(({ authority }) => authority === 'nodes')).toEqual([]);
  const servers = roles.filter(
    ({ authority, certificate }) => authority === 'etcd' && certificate.usages.includes('server'),
  );
  expect(servers.map(({ folder }) => folder)).toEqual(['etcd-0']);
});
