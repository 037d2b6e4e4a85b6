import { ENGINE_EXTRA, ENGINE_UNIT } from '@gantry/objects';
import { createHash } from 'node:crypto';
import { nodeOfUser } from '../authz/acts-for.ts';
import type { User } from '../user.ts';

/** A client certificate that the CA has signed. The used fields of Node's `PeerCertificate`. */
export interface ClientCertificate {
  readonly subject: {
    readonly CN?: string | string[];
    readonly O?: string | string[];
    readonly OU?: string | string[];
  };
  /** The certificate in DER. */
  readonly raw: Uint8Array;
}

const AUTHENTICATED = 'system:authenticated';
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

/** The user of requests without credentials. */
export const ANONYMOUS: User = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} };

/** An authenticated user, with the group `system:authenticated`. */
export function authenticated(
  name: string,
  groups: readonly string[],
  rest: { readonly uid?: string; readonly extra?: User['extra'] } = {},
): User {
  const all = groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED];
  return { name, uid: rest.uid ?? '', groups: all, extra: rest.extra ?? {} };
}

/** The user of a verified client certificate: common name and organisations. Undefined without a common name. */
export function userOfCertificate(certificate: ClientCertificate): User | undefined {
  const name = list(certificate.subject.CN)[0];
  if (name === undefined || name === '') return undefined;
  const fingerprint = createHash('sha256').update(certificate.raw).digest('hex');
  const { extra, ...user } = userOfIdentity(name, list(certificate.subject.O), list(certificate.subject.OU));
  return { ...user, extra: { ...extra, [CREDENTIAL_ID]: [`X509SHA256=${fingerprint}`] } };
}

/** The user of an mTLS identity of which only the names are known. */
export function userOfIdentity(
  commonName: string,
  organizations: readonly string[],
  organizationalUnits: readonly string[] = [],
): User {
  const user = authenticated(commonName, organizations);
  const engine = nodeOfUser(user) === undefined ? undefined : engineOfUnits(organizationalUnits);
  return engine === undefined ? user : { ...user, extra: { [ENGINE_EXTRA]: [engine] } };
}

/** The engine in an agent's certificate. The signer of agents' certificates writes at most one. */
function engineOfUnits(units: readonly string[]): string | undefined {
  const named = units.filter((unit) => unit.startsWith(ENGINE_UNIT));
  return named.length === 1 ? named[0]?.slice(ENGINE_UNIT.length) : undefined;
}

function list(value: string | string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
