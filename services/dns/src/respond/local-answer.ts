import { CODES, TYPES } from '../wire/query.ts';
import { isWritable, type OwnedRecord, type ResponseContent, type Soa } from '../wire/response.ts';
import { type ClusterState, type Found, oneRecord, type RecordData, type RecordSet } from '../zone/cluster-state.ts';
import { CLUSTER_DOMAIN, isClusterName, lookUpClusterName, NAME_SERVER } from '../zone/cluster-zone.ts';
import type { ReverseZone } from '../zone/reverse-zone.ts';

/** Longer chains of ExternalName Services are not followed. */
const MAX_CHAIN = 8;
const MAILBOX = `hostmaster.${CLUSTER_DOMAIN}`;

/** A question with its name in lower case and its type. */
export interface LocalQuestion {
  readonly name: string;
  readonly type: number;
}

/** The records of one type in an answer, and the name that has them. */
interface OwnedSet {
  readonly owner: OwnedRecord['owner'];
  readonly set: RecordSet<RecordData | Soa>;
}

/** A response whose answers are not in an order yet. */
export interface LocalContent extends Omit<ResponseContent, 'answers'> {
  /** The aliases that led to the name, in order. */
  readonly aliases: readonly OwnedRecord[];
  readonly sets: readonly OwnedSet[];
}

export type LocalAnswer =
  | { readonly kind: 'content'; readonly content: LocalContent }
  /** The answer continues with the records of a name outside of the cluster. */
  | { readonly kind: 'outside'; readonly answers: readonly OwnedRecord[]; readonly target: string };

/** Returns the answer of this server's own zones, or undefined if the name is in none of them. Pure: depends on the state only. */
export function answerLocally(
  question: LocalQuestion,
  state: ClusterState,
  reverse: ReverseZone,
): LocalAnswer | undefined {
  const aliases: OwnedRecord[] = [];
  let { name } = question;
  for (let length = 0; length <= MAX_CHAIN; length++) {
    const own = lookUp(name, state, reverse);
    if (own === undefined) return length === 0 ? undefined : { kind: 'outside', answers: aliases, target: name };
    const owner: OwnedRecord['owner'] = length === 0 ? 'question' : { name };
    const sets = own.found.kind === 'absent' ? [] : own.found.sets;
    const [alias] = sets.find((one) => one.type === 'CNAME')?.from(0) ?? [];
    if (alias !== undefined && 'target' in alias) {
      if (!isWritable(alias.target)) break;
      aliases.push({ owner, data: alias });
      if (question.type === TYPES.CNAME || question.type === TYPES.ANY) return content({ aliases });
      name = alias.target.toLowerCase();
      continue;
    }
    return answerOfName(question, { name, owner, own, sets, aliases }, state);
  }
  return content({ code: CODES.serverFailure });
}

interface NamedFound {
  readonly name: string;
  readonly owner: OwnedRecord['owner'];
  readonly own: Own;
  readonly sets: readonly RecordSet[];
  /** The aliases that led to the name. */
  readonly aliases: readonly OwnedRecord[];
}

function answerOfName(
  { type }: LocalQuestion,
  { name, owner, own, sets, aliases }: NamedFound,
  state: ClusterState,
): LocalAnswer {
  const isApex = name === own.zone;
  const soa: Soa = { type: 'SOA', server: NAME_SERVER, mailbox: MAILBOX, serial: state.serial() };
  const ofType: readonly OwnedSet[] = [
    ...sets.filter((one) => type === TYPES.ANY || TYPES[one.type] === type).map((set) => ({ owner, set })),
    ...(isApex && (type === TYPES.SOA || type === TYPES.ANY) ? [{ owner, set: oneRecord(soa) }] : []),
  ];
  if (ofType.length > 0) {
    // Looked up as far as there is room for them.
    return content({ aliases, sets: ofType, additionals: { [Symbol.iterator]: () => glue(ofType, name, state) } });
  }
  const code = own.found.kind === 'absent' && !isApex ? CODES.noName : CODES.noError;
  const authorities = [{ owner: isApex && owner === 'question' ? owner : { name: own.zone }, data: soa }];
  return content({ code, aliases, authorities });
}

/** Yields the addresses of the names in SRV and NS records. */
function* glue(sets: readonly OwnedSet[], name: string, state: ClusterState): Iterator<OwnedRecord> {
  const targets = new Set<string>();
  for (const { set } of sets) {
    if (set.type !== 'SRV' && set.type !== 'NS') continue;
    for (const data of set.from(0)) {
      if (!('target' in data) || targets.has(data.target)) continue;
      targets.add(data.target);
      const found = lookUpClusterName(state, data.target);
      const addresses = found.kind === 'absent' ? undefined : found.sets.find((one) => one.type === 'A');
      const owner: OwnedRecord['owner'] = data.target === name ? 'question' : { name: data.target };
      for (const address of addresses?.from(0) ?? []) yield { owner, data: address };
    }
  }
}

interface Own {
  readonly zone: string;
  readonly found: Found;
}

function lookUp(name: string, state: ClusterState, reverse: ReverseZone): Own | undefined {
  if (isClusterName(name)) return { zone: CLUSTER_DOMAIN, found: lookUpClusterName(state, name) };
  return reverse.lookUp(state, name);
}

function content(given: Partial<LocalContent>): LocalAnswer {
  const shared = { code: CODES.noError, authoritative: true, aliases: [], sets: [], authorities: [], additionals: [] };
  return { kind: 'content', content: { ...shared, ...given } };
}
