import type { Random } from '@gantry/base';
import type { ClusterState } from '../zone/cluster-state.ts';
import type { ReverseZone } from '../zone/reverse-zone.ts';
import { CLASS_IN, CODES, type Query, readQuery, TYPES } from '../wire/query.ts';
import { encodeCode, encodeRefusal, encodeResponse, type OwnedRecord, type Transport } from '../wire/response.ts';
import { KeptResponses, type Rotation } from './kept-responses.ts';
import { answerLocally, type LocalContent } from './local-answer.ts';

/** The state of the cluster, with a number that grows with its changes. */
export interface ZoneView extends ClusterState {
  readonly generation: number;
}

/** The client that asked. */
export interface Client {
  readonly address: string;
  readonly transport: Transport;
}

/** Resolves the names outside of the cluster. */
export interface Outside {
  /** Returns the response to a query for the client. Never rejects. */
  resolve(query: Query, client: Client): Promise<Buffer>;
  /** Returns the aliases' records, followed by the target's records of the question's type. Never rejects. */
  resolveAlias(query: Query, alias: Alias, client: Client): Promise<Buffer>;
}

/** The answer so far, and the name at which it continues. */
export interface Alias {
  readonly answers: readonly OwnedRecord[];
  readonly target: string;
}

export interface ResponderOptions {
  readonly zone: ZoneView;
  readonly reverse: ReverseZone;
  readonly outside: Outside;
  /** Whether the zone is complete. Before that, names may be missing in it. */
  readonly isSynced: () => boolean;
  readonly random: Random;
}

/** Totals since the start. */
export interface ResponderTotals {
  /**
   * The number of packets by source: kept responses, the zone, the host's resolver, refused queries, and ignored packets, which get no
   * response.
   */
  readonly source: Record<'kept' | 'zone' | 'outside' | 'refused' | 'ignored', number>;
}

const MAX_KEPT = 8192;
/** The number of address orders of a name that are used in turn. */
const MAX_ROTATIONS = 8;

/** Turns packets into responses. It never throws, whatever the packet. */
export class Responder {
  readonly totals: ResponderTotals = { source: { kept: 0, zone: 0, outside: 0, refused: 0, ignored: 0 } };
  readonly #options: ResponderOptions;
  readonly #kept: Readonly<Record<Transport, KeptResponses>>;

  constructor(options: ResponderOptions) {
    this.#options = options;
    this.#kept = { udp: new KeptResponses(MAX_KEPT), tcp: new KeptResponses(MAX_KEPT) };
  }

  /** Returns the response to a packet, immediately if it comes from memory. Returns undefined for a packet that gets no response. */
  respond(packet: Buffer, transport: Transport, address: string): Buffer | Promise<Buffer> | undefined {
    const kept = this.#kept[transport].find(packet, this.#options.zone.generation);
    if (kept !== undefined) {
      this.totals.source.kept += 1;
      return kept;
    }
    const read = readQuery(packet);
    if (read.kind === 'ignored') {
      this.totals.source.ignored += 1;
      return undefined;
    }
    if (read.kind === 'refused') {
      this.totals.source.refused += 1;
      return encodeRefusal(packet, read.code);
    }
    return this.#answer(read.query, transport, address);
  }

  #answer(query: Query, transport: Transport, address: string): Buffer | Promise<Buffer> {
    const { source } = this.totals;
    const refusal = refusalOf(query);
    if (refusal !== undefined) {
      source.refused += 1;
      return encodeCode(query, refusal, transport);
    }
    const { zone, reverse, outside, isSynced } = this.#options;
    const local =
      query.name === undefined ? undefined : answerLocally({ name: query.name, type: query.type }, zone, reverse);
    if (local === undefined) {
      source.outside += 1;
      return outside.resolve(query, { address, transport });
    }
    source.zone += 1;
    if (!isSynced()) return encodeCode(query, CODES.serverFailure, transport);
    if (local.kind === 'outside') return outside.resolveAlias(query, local, { address, transport });
    const rotation = rotationOf(query, local.content, transport, this.#options.random);
    // With options, such as cookies, no two packets are equal.
    if (query.edns?.hasOptions === true) return rotation.encode(0);
    return this.#kept[transport].keep(query.bytes, rotation);
  }
}

function refusalOf({
  edns,
  class: recordClass,
  type,
}: Query): typeof CODES.badVersion | typeof CODES.refused | undefined {
  if (edns !== undefined && edns.version !== 0) return CODES.badVersion;
  // No client gets whole zones. Other classes are not ours.
  if (recordClass !== CLASS_IN || type === TYPES.AXFR || type === TYPES.IXFR) return CODES.refused;
  return undefined;
}

/**
 * Gives the addresses of an answer in several orders, because many clients use the first one. The first order starts at a random address.
 */
function rotationOf(query: Query, content: LocalContent, transport: Transport, random: Random): Rotation {
  const addresses = content.sets.find(({ set }) => set.type === 'A')?.set.beginnings ?? 0;
  const count = Math.max(1, Math.min(MAX_ROTATIONS, addresses));
  const start = Math.floor(random() * addresses);
  return {
    count,
    encode: (index) => {
      const first = (start + Math.floor((index * addresses) / count)) % Math.max(1, addresses);
      return encodeResponse(query, { ...content, answers: inOrder(content, first) }, transport);
    },
  };
}

/** Yields the records of an answer: its addresses last, from this one on. */
function* inOrder({ aliases, sets }: LocalContent, firstAddress: number): Iterable<OwnedRecord> {
  yield* aliases;
  for (const { owner, set } of sets) if (set.type !== 'A') for (const data of set.from(0)) yield { owner, data };
  for (const { owner, set } of sets)
    if (set.type === 'A') for (const data of set.from(firstAddress)) yield { owner, data };
}
