/** One record of the cluster's zone, without its owner's name. */
export type RecordData =
  | { readonly type: 'A'; readonly address: string }
  | { readonly type: 'CNAME' | 'PTR' | 'NS'; readonly target: string }
  | {
      readonly type: 'SRV';
      readonly priority: number;
      readonly weight: number;
      readonly port: number;
      readonly target: string;
    }
  | { readonly type: 'TXT'; readonly text: string };

/** What a name of a zone that this server is the authority of has. */
export type Found =
  /** The name, and everything below it, does not exist: NXDOMAIN. */
  | { readonly kind: 'absent' }
  /** The name exists, perhaps only because names below it do. */
  | { readonly kind: 'present'; readonly records: readonly RecordData[] };

export const ABSENT: Found = { kind: 'absent' };
/** A name without records of its own. */
export const EMPTY: Found = { kind: 'present', records: [] };

/** A name with these records; absent where there are none. */
export function foundUnlessEmpty(records: readonly RecordData[]): Found {
  return records.length === 0 ? ABSENT : { kind: 'present', records };
}
