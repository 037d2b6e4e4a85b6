import { dns1123Label, dns1123Subdomain, StatusError } from '@gantry/objects';
import type { LeaseFence } from '../object-client.ts';

/** The header of a write that names the term of its writer. API servers other than Gantry's ignore it. */
export const FENCE_HEADER = 'gantry-fence';

/** An encoded term is not longer than this. Kubernetes has no limit for the name of a holder. */
const MAX_LENGTH = 4096;
const MAX_UID = 128;
/** The limit of an int32, as which Kubernetes stores it. */
const MAX_TRANSITIONS = 2 ** 31 - 1;
const FIELDS = ['lease', 'uid', 'holder', 'transitions'] as const;

/** A term as the value of the header: `lease=NAMESPACE%2FNAME&uid=UID&holder=IDENTITY&transitions=3`, encoded as a form. */
export function formatFence({ namespace, name, uid, holder, transitions }: LeaseFence): string {
  const lease = `${namespace}/${name}`;
  return new URLSearchParams({ lease, uid, holder, transitions: String(transitions) }).toString();
}

/** The inverse of `formatFence`, with the fields in any order. Throws StatusError BadRequest, which names the header. */
export function parseFence(text: string): LeaseFence {
  if (text.length > MAX_LENGTH) throw invalid(`must be no more than ${MAX_LENGTH} characters`);
  const fields = fieldsOf(text);
  const [namespace = '', name = '', ...rest] = fields.lease.split('/');
  const problem = dns1123Label(namespace)[0] ?? dns1123Subdomain(name)[0];
  if (problem !== undefined || rest.length > 0) {
    throw invalid(`lease: must be NAMESPACE/NAME${problem === undefined ? '' : `: ${problem}`}`);
  }
  const { uid, holder } = fields;
  if (uid === '' || uid.length > MAX_UID) throw invalid(`uid: must have 1 to ${MAX_UID} characters`);
  if (holder === '') throw invalid('holder: must not be empty');
  const transitions = Number(fields.transitions);
  if (!/^(?:0|[1-9]\d{0,9})$/.test(fields.transitions) || transitions > MAX_TRANSITIONS) {
    throw invalid(`transitions: must be a number from 0 to ${MAX_TRANSITIONS}`);
  }
  return { namespace, name, uid, holder, transitions };
}

function fieldsOf(text: string): Readonly<Record<(typeof FIELDS)[number], string>> {
  const found = new Map<string, string>();
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=');
    const field = pair.slice(0, Math.max(0, equals));
    if (found.has(field)) throw invalid(`${field}: must be there once`);
    found.set(field, decode(pair.slice(equals + 1)));
  }
  const [lease, uid, holder, transitions] = FIELDS.map((field) => found.get(field));
  if (lease === undefined || uid === undefined || holder === undefined || transitions === undefined) {
    throw invalid(`must have the fields ${FIELDS.join(', ')}`);
  }
  if (found.size > FIELDS.length) throw invalid(`must have no fields but ${FIELDS.join(', ')}`);
  return { lease, uid, holder, transitions };
}

/** Node.js joins headers of the same name by a comma and a space, which no encoded value has. */
function decode(value: string): string {
  if (/^[\w.~!*'()%/:+-]*$/.test(value)) {
    try {
      return decodeURIComponent(value.replaceAll('+', ' '));
    } catch {
      // The error below.
    }
  }
  throw invalid('must be encoded as a form (application/x-www-form-urlencoded)');
}

function invalid(problem: string): StatusError {
  return StatusError.badRequest(`header Gantry-Fence: ${problem}`);
}
