import { CODES, TYPES } from '../wire/query.ts';
import { isWritable, type OwnedRecord, type ResponseContent, type Soa } from '../wire/response.ts';
import type { ClusterState, Found, RecordData } from '../zone/cluster-state.ts';
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

export type LocalAnswer =
  | { readonly kind: 'content'; readonly content: ResponseContent }
  /** The answer continues with the records of a name outside of the cluster. */
  | { readonly kind: 'outside'; readonly answers: readonly OwnedRecord[]; readonly target: string };

/** Returns the answer of this server's own zones, or undefined if the name is in none of them. Pure: depends on the state only. */
export function answerLocally(
  question: LocalQuestion,
  state: ClusterState,
  reverse: ReverseZone,
): LocalAnswer | undefined {
  const answers: OwnedRecord[] = [];
  let { name } = question;
  for (let length = 0; length <= MAX_CHAIN; length++) {
    const own = lookUp(name, state, reverse);
    if (own === undefined) return length === 0 ? undefined : { kind: 'outside', answers, target: name };
    const owner: OwnedRecord['owner'] = length === 0 ? 'question' : { name };
    const records = own.found.kind === 'absent' ? [] : own.found.records;
    const alias = records.find((one) => one.type === 'CNAME');
    if (alias !== undefined && 'target' in alias) {
      if (!isWritable(alias.target)) break;
      answers.push({ owner, data: alias });
      if (question.type === TYPES.CNAME || question.type === TYPES.ANY) return content(answers, []);
      name = alias.target.toLowerCase();
      continue;
    }
    return answerOfName(question, { name, owner, own, records, answers }, state);
  }
  const failed = { code: CODES.serverFailure, authoritative: true, answers: [], authorities: [], additionals: [] };
  return { kind: 'content', content: failed };
}

interface NamedFound {
  readonly name: string;
  readonly owner: OwnedRecord['owner'];
  readonly own: Own;
  readonly records: readonly RecordData[];
  /** The aliases that led to the name. */
  readonly answers: readonly OwnedRecord[];
}

function answerOfName(
  { type }: LocalQuestion,
  { name, owner, own, records, answers }: NamedFound,
  state: ClusterState,
): LocalAnswer {
  const isApex = name === own.zone;
  const soa: Soa = { type: 'SOA', server: NAME_SERVER, mailbox: MAILBOX, serial: state.serial() };
  const ofType: readonly OwnedRecord[] = [
    ...records.filter((one) => type === TYPES.ANY || TYPES[one.type] === type).map((data) => ({ owner, data })),
    ...(isApex && (type === TYPES.SOA || type === TYPES.ANY) ? [{ owner, data: soa }] : []),
  ];
  if (ofType.length > 0) return content([...answers, ...ofType], glue(ofType, name, state));
  const code = own.found.kind === 'absent' && !isApex ? CODES.noName : CODES.noError;
  const authorities = [{ owner: isApex && owner === 'question' ? owner : { name: own.zone }, data: soa }];
  return { kind: 'content', content: { code, authoritative: true, answers, authorities, additionals: [] } };
}

/** Returns the addresses of the names in SRV and NS records. */
function glue(records: readonly OwnedRecord[], name: string, state: ClusterState): readonly OwnedRecord[] {
  const targets = new Set(
    records.flatMap(({ data }) => (data.type === 'SRV' || data.type === 'NS' ? [data.target] : [])),
  );
  return [...targets].flatMap((target) => {
    const found = lookUpClusterName(state, target);
    const addresses = found.kind === 'absent' ? [] : found.records.filter((one) => one.type === 'A');
    const owner: OwnedRecord['owner'] = target === name ? 'question' : { name: target };
    return addresses.map((data) => ({ owner, data }));
  });
}

interface Own {
  readonly zone: string;
  readonly found: Found;
}

function lookUp(name: string, state: ClusterState, reverse: ReverseZone): Own | undefined {
  if (isClusterName(name)) return { zone: CLUSTER_DOMAIN, found: lookUpClusterName(state, name) };
  return reverse.lookUp(state, name);
}

function content(answers: readonly OwnedRecord[], additionals: readonly OwnedRecord[]): LocalAnswer {
  const shared = { code: CODES.noError, authoritative: true, authorities: [] };
  return { kind: 'content', content: { ...shared, answers, additionals } };
}
