import type { ResourceDefinition } from '@gantry/apimachinery';
import {
  ADMINISTRATORS,
  type CertificateSigningRequest,
  CLIENT_SIGNER,
  type ClusterRole,
  type ClusterTrustBundle,
  equalJson,
  type KubeObject,
  type PolicyRule,
  type RoleBinding,
  StatusError,
  UNLIMITED_GROUPS,
} from '@gantry/objects';
import type { User } from '../user.ts';
import type { AccessDecider } from './authorizer.ts';
import { missingRights, describeRules, quoteList } from '../rbac/rules.ts';
import type { RoleIndex } from '../rbac/role-index.ts';

/** One write, with the object as it will be stored. Its fields are not validated yet. */
export interface GuardedChange {
  readonly user: User;
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  readonly subresource: string;
  readonly object: KubeObject;
  /** The stored object; undefined for a create. */
  readonly old: KubeObject | undefined;
}

/** Rejects writes whose content the user may not write, although verb and resource are allowed. */
export interface EscalationCheck {
  /** Throws a StatusError if the write is not allowed. */
  check(change: GuardedChange): void;
}

const RBAC = 'rbac.authorization.k8s.io';
const CERTIFICATES = 'certificates.k8s.io';
const FULL: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** Prevents that users grant rights that they do not have, or use signers without the right to. */
export function createEscalationCheck(access: AccessDecider, roles: RoleIndex): EscalationCheck {
  return {
    check: (change) => {
      const { user, definition } = change;
      if (definition.group === CERTIFICATES && definition.resource === 'clustertrustbundles')
        checkTrustBundle(access, change);
      else if (definition.group === CERTIFICATES) checkCertificate(access, change);
      if (definition.group !== RBAC || user.groups.includes(ADMINISTRATORS) || onlyCleansUp(change)) return;
      if (definition.resource === 'roles' || definition.resource === 'clusterroles') checkRole(access, change);
      else checkBinding(access, roles, change);
    },
  };
}

/** Whether the write changes only finalizers and owner references, as garbage collection does. */
function onlyCleansUp({ object, old }: GuardedChange): boolean {
  if (old === undefined) return false;
  const rest = ({ metadata, ...others }: KubeObject): object => {
    const { finalizers: _, ownerReferences: _owners, managedFields: _fields, ...kept } = metadata;
    return { ...others, metadata: kept };
  };
  return equalJson(rest(object), rest(old));
}

function checkRole(access: AccessDecider, change: GuardedChange): void {
  const { user, definition, namespace, object, old } = change;
  const name = object.metadata.name ?? '';
  const target = { definition, namespace, name: old === undefined ? '' : name, subresource: '' };
  // A right `escalate` with a resource name applies only to an existing role, so a create is checked without a name.
  const asked = { verb: 'escalate', target, object: undefined, fieldSelector: '' };
  if (access.decide(user, asked).allowed) return;
  requireHeld(access, change, (object as ClusterRole).rules ?? []);
  const gathers = gathersRules(object) || (old !== undefined && gathersRules(old));
  if (!gathers || missingRights(access.rulesFor(user, '').rules, FULL).length === 0) return;
  const text = 'must have cluster-admin privileges to use the aggregationRule';
  throw StatusError.forbidden({ group: RBAC, resource: definition.resource }, name, text);
}

function gathersRules(role: KubeObject): boolean {
  const { aggregationRule } = role as ClusterRole & KubeObject;
  return (aggregationRule?.clusterRoleSelectors ?? []).length > 0;
}

function checkBinding(access: AccessDecider, roles: RoleIndex, change: GuardedChange): void {
  const { user, namespace, object } = change;
  const { roleRef } = object as RoleBinding & KubeObject;
  const resource = { Role: 'roles', ClusterRole: 'clusterroles' }[roleRef.kind];
  if (resource !== undefined) {
    const target = {
      definition: { group: roleRef.apiGroup ?? '', resource },
      namespace,
      name: roleRef.name,
      subresource: '',
    };
    if (access.decide(user, { verb: 'bind', target, object: undefined, fieldSelector: '' }).allowed) return;
  }
  const rules = roles.rulesOf(roleRef, namespace);
  if (rules === undefined) {
    throw StatusError.notFound({ group: RBAC, resource: resource ?? roleRef.kind.toLowerCase() }, roleRef.name);
  }
  requireHeld(access, change, rules);
}

/** Throws Forbidden if the user does not have all rights of `wanted`. */
function requireHeld(access: AccessDecider, change: GuardedChange, wanted: readonly PolicyRule[]): void {
  const { user, definition, namespace, object } = change;
  const { rules, problem } = access.rulesFor(user, namespace);
  const missing = missingRights(rules, wanted);
  if (missing.length === 0) return;
  const who = `user ${JSON.stringify(user.name)} (groups=${quoteList(user.groups)})`;
  const text = `${who} is attempting to grant RBAC permissions not currently held:\n${describeRules(missing).join('\n')}`;
  const why = problem === '' ? '' : `; resolution errors: [${problem}]`;
  throw StatusError.forbidden({ group: RBAC, resource: definition.resource }, object.metadata.name ?? '', text + why);
}

/** Checks ClusterTrustBundles with a signer: the user needs the right `attest` for the signer. */
function checkTrustBundle(access: AccessDecider, change: GuardedChange): void {
  const { user, object, definition } = change;
  const { metadata, spec } = object as Partial<ClusterTrustBundle> & KubeObject;
  const { signerName = '' }: { readonly signerName?: unknown } = spec ?? {};
  // If the signer name is not a string, the schema validation rejects it after this check.
  if (
    typeof signerName !== 'string' ||
    signerName === '' ||
    onlyCleansUp(change) ||
    maySigner(access, user, 'attest', signerName)
  )
    return;
  throw StatusError.forbidden(
    { group: definition.group, resource: definition.resource },
    metadata.name ?? '',
    `user not permitted to attest for signerName ${JSON.stringify(signerName)}`,
  );
}

/** Checks certificate requests: rights to approve and sign for a signer, and subjects that may not be requested. */
function checkCertificate(access: AccessDecider, { user, object, old, subresource }: GuardedChange): void {
  const { spec, status } = object as CertificateSigningRequest;
  const name = object.metadata.name ?? '';
  const signer = ((old ?? object) as CertificateSigningRequest).spec?.signerName ?? spec?.signerName ?? '';
  const refuse = (text: string): never => {
    throw StatusError.forbidden({ group: CERTIFICATES, resource: 'certificatesigningrequests' }, name, text);
  };
  if (old === undefined) {
    const group = signer === CLIENT_SIGNER ? unlimitedGroupIn(spec?.request ?? '') : undefined;
    if (group === undefined) return;
    refuse(`use of ${CLIENT_SIGNER} signer with ${group} group is not allowed`);
  }
  const before = (old as CertificateSigningRequest | undefined)?.status;
  if (subresource === 'approval' && !maySigner(access, user, 'approve', signer)) {
    refuse(`user not permitted to approve requests with signerName ${JSON.stringify(signer)}`);
  }
  const signs = subresource === 'status' && !equalJson(before ?? {}, status ?? {});
  if (signs && !maySigner(access, user, 'sign', signer)) {
    refuse(`user not permitted to sign requests with signerName ${JSON.stringify(signer)}`);
  }
}

/** The first group of `UNLIMITED_GROUPS` that is an organisation of the certificate request. Handles all string types of DER. */
export function unlimitedGroupIn(request: string): string | undefined {
  const pem = Buffer.from(request, 'base64').toString('latin1');
  const blocks = [...pem.matchAll(/-----BEGIN CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END/g)];
  const organizations = blocks.flatMap(([, body = '']) => [...organizationsIn(Buffer.from(body, 'base64'))]);
  return organizations.find((name) => UNLIMITED_GROUPS.has(name));
}

/** The object identifier id-at-organizationName in DER. A string of any type follows it. */
const ORGANIZATION = Buffer.from([0x06, 0x03, 0x55, 0x04, 0x0a]);

function* organizationsIn(der: Buffer): Iterable<string> {
  for (let at = der.indexOf(ORGANIZATION); at >= 0; at = der.indexOf(ORGANIZATION, at + 1)) {
    const value = at + ORGANIZATION.length;
    const isLong = der[value + 1] === 0x81;
    const start = value + (isLong ? 3 : 2);
    const bytes = der.subarray(start, start + (der[start - 1] ?? 0));
    yield stringOf(der[value] ?? 0, bytes);
  }
}

const UNIVERSAL_STRING = 0x1c;
const BMP_STRING = 0x1e;

/** Decodes a DER string. Two string types have wide characters, big endian. In the others, the checked names are ASCII. */
function stringOf(tag: number, bytes: Buffer): string {
  const width = tag === UNIVERSAL_STRING ? 4 : tag === BMP_STRING ? 2 : 1;
  if (width === 1) return bytes.toString('utf8');
  const codes = Array.from({ length: Math.floor(bytes.length / width) }, (_, i) => bytes.readUIntBE(i * width, width));
  return codes.map((code) => (code < 0x110000 ? String.fromCodePoint(code) : '')).join('');
}

/** Whether the user has the right for the signer, or for all signers of its domain (`example.com/*`). */
function maySigner(access: AccessDecider, user: User, verb: string, signer: string): boolean {
  const definition = { group: CERTIFICATES, resource: 'signers' };
  const domain = signer.split('/')[0] ?? '';
  return [signer, `${domain}/*`].some((name) => {
    const target = { definition, namespace: '', name, subresource: '' };
    return access.decide(user, { verb, target, object: undefined, fieldSelector: '' }).allowed;
  });
}
