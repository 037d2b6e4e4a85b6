/** A word that is not used here, and what is written in its place. */
export interface Term {
  /** Matches the word in prose, ignoring case. */
  readonly pattern: RegExp;
  readonly instead: string;
  /** The word is right in a file or passage that matches. */
  readonly unless?: RegExp;
  /** Matches the word in an identifier. */
  readonly name?: RegExp;
}

/** Add a word here when a second reader stumbles over it. */
export const TERMS: readonly Term[] = [
  { pattern: /nobody/, instead: 'name the subject: no client, no controller, none' },
  { pattern: /(?:some|any)body/, instead: 'name the subject: a client, another process' },
  { pattern: /who(?:m)?ever/, instead: 'name the subject: the caller, every client that' },
  { pattern: /(?:tells?|told|telling) of/, instead: 'reports, lists, is notified about' },
  { pattern: /go(?:es)? by/, instead: 'is identified by, depends on' },
  { pattern: /besides/, instead: 'also, in addition to, other' },
  {
    pattern: /the driver/,
    instead: 'the registry',
    unless: /\b(?:CSI|DRA|device|volume)s?\b|kinds\/src\/(?:storage|resource)\//i,
  },
  {
    pattern: /(?<!front )doors?/,
    instead: 'endpoint or server; of a workspace: its index',
    name: /Doors?(?![a-z])|^doors?(?![a-z])/,
  },
  { pattern: /upkeep/, instead: 'control loop', name: /upkeep/i },
  { pattern: /catalog(?:ue)?s?/, instead: 'resource registry', name: /catalog/i },
  { pattern: /set-?backs?/, instead: 'back-off entry', name: /setback/i },
  { pattern: /truth ?gates?/, instead: 'freshness gate', name: /truthGate/i },
  { pattern: /write ?guards?/, instead: 'escalation check', name: /writeGuard/i },
];

/** File names that do not say what the file holds. */
export const VAGUE_FILE_NAMES: readonly string[] = [
  'machinery.ts',
  'more-controller-roles.ts',
  'sized.ts',
  'keep.ts',
  'utils.ts',
  'helpers.ts',
  'common.ts',
  'misc.ts',
];
