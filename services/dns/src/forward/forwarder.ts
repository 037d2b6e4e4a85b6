import { type Clock, errorMessage, type Random, withDeadline } from '@gantry/base';
import { LoopLog, type LoopState, QueueMeter } from '@gantry/controller-runtime';
import { type Logger, Places } from '@gantry/service';
import type { Alias, Client, Outside } from '../respond/responder.ts';
import { CODES, type Query } from '../wire/query.ts';
import { EMPTY_CONTENT, encodeCode, encodeResponse, type OwnedRecord } from '../wire/response.ts';
import { exchange, type Upstream } from './exchange.ts';
import { ReceivedCache } from './received-cache.ts';
import {
  aliasQuery,
  encodeUpstreamQuery,
  forwardKey,
  readReceived,
  type Received,
  receivedAnswers,
  relay,
} from './upstream-packet.ts';

export interface ForwarderOptions {
  /** The servers to ask, in order. */
  readonly upstreams: () => readonly Upstream[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Totals since the start. */
export interface ForwarderTotals {
  hits: number;
  asked: number;
  failed: number;
}

/** The time for one attempt at one server, the same as in CoreDNS. */
const ATTEMPT_MS = 2000;
/** The time for all attempts. A client's own resolver waits for 5 s. */
const TOTAL_MS = 4500;
/** If no server answered, each one is asked again, because packets may be lost. */
const ROUNDS = 2;
/** The maximum number of questions that wait for the host at the same time. Further questions fail at once. */
const MAX_WAITING = 1000;
/**
 * The maximum numbers of clients that wait for the host at the same time, in total and per address. Several may wait for the same
 * question.
 */
const WAITING_CLIENTS = { max: 10_000, maxOfAddress: 200 };

/** A response, and for how many seconds it has been kept. */
interface Fetched {
  readonly received: Received;
  readonly keptSeconds: number;
}

/**
 * Forwards questions to the host's resolvers and keeps their responses. Equal waiting questions share one forwarded question. If a
 * resolver asks this server in a circle, it waits for itself until its time is up.
 */
export class Forwarder implements Outside {
  readonly totals: ForwarderTotals = { hits: 0, asked: 0, failed: 0 };
  readonly #options: ForwarderOptions;
  readonly #cache: ReceivedCache;
  readonly #places = new Places(WAITING_CLIENTS);
  readonly #waiting = new Map<string, Promise<Received | undefined>>();
  readonly #log: LoopLog;
  readonly #meter = new QueueMeter('forwarding');
  /** The server that answered last. It is asked first. */
  #preferred = '';

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#cache = new ReceivedCache(options.clock);
    this.#log = new LoopLog(options.clock);
  }

  /** The questions to the host's resolvers, as a control loop. Those that had no answer are its decisions. */
  state(): LoopState {
    return this.#log.state(this.#meter.state(this.#options.clock.monotonicMs()));
  }

  async resolve(query: Query, { address, transport }: Client): Promise<Buffer> {
    const fetched = await this.#fetch(query, address);
    if (fetched === undefined) return encodeCode(query, CODES.serverFailure, transport);
    return relay(fetched.received, query, transport, fetched.keptSeconds);
  }

  async resolveAlias(query: Query, { answers, target }: Alias, { address, transport }: Client): Promise<Buffer> {
    const fetched = await this.#fetch(aliasQuery(query, target), address);
    const further = fetched === undefined ? undefined : readAnswers(fetched);
    // Without the target's records, the alias alone would mean that the target has no records.
    if (fetched === undefined || further === undefined) return encodeCode(query, CODES.serverFailure, transport);
    const { code } = fetched.received;
    if (code !== CODES.noName && code !== CODES.noError) return encodeCode(query, CODES.serverFailure, transport);
    // RFC 6604: the response has the code of the last name.
    return encodeResponse(query, { ...EMPTY_CONTENT, code, answers: [...answers, ...further] }, transport);
  }

  /** Returns undefined if no server answered. Never rejects. */
  async #fetch(query: Query, address: string): Promise<Fetched | undefined> {
    const key = forwardKey(query);
    const kept = this.#cache.find(key);
    if (kept !== undefined) {
      this.totals.hits += 1;
      return kept;
    }
    using place = this.#places.take(address);
    if (place === undefined) {
      this.totals.failed += 1;
      return undefined;
    }
    let waiting = this.#waiting.get(key);
    if (waiting === undefined) {
      if (this.#waiting.size >= MAX_WAITING) {
        this.totals.failed += 1;
        return undefined;
      }
      waiting = this.#askLogged(key, query).finally(() => this.#waiting.delete(key));
      this.#waiting.set(key, waiting);
    }
    const received = await waiting;
    if (received === undefined) return undefined;
    this.#cache.keep(key, received);
    return { received, keptSeconds: 0 };
  }

  async #askLogged(key: string, query: Query): Promise<Received | undefined> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const running = this.#log.begin({ namespace: '', name: query.name ?? '' });
    this.#meter.added();
    this.#meter.taken(key, startedMs, startedMs);
    const problems = new Map<string, string>();
    const received = await this.#ask(query, problems);
    const now = clock.monotonicMs();
    this.#meter.done(key, now);
    const failure = received === undefined ? new NoAnswerError(problems) : undefined;
    running.ended(failure === undefined ? 'done' : 'failed', (now - startedMs) / 1000, failure);
    return received;
  }

  /** Adds to `problems` why a server gave no answer, by its address. */
  async #ask(query: Query, problems: Map<string, string>): Promise<Received | undefined> {
    this.totals.asked += 1;
    const { clock, logger } = this.#options;
    using total = withDeadline(clock, new AbortController().signal, TOTAL_MS);
    let refused: Received | undefined;
    for (let round = 0; round < ROUNDS; round++) {
      for (const upstream of this.#inOrder()) {
        try {
          const received = await this.#askOne(upstream, query, total);
          // If this server cannot answer, another one may.
          if (received.code !== CODES.serverFailure && received.code !== CODES.refused) {
            this.#preferred = upstream.address;
            return received;
          }
          refused = received;
        } catch (error) {
          const reason = errorMessage(error);
          problems.set(upstream.address, reason);
          logger.debug({ server: upstream.address, reason }, 'a resolver of the host did not answer');
        }
        if (total.aborted) break;
      }
      if (refused !== undefined || total.aborted) break;
    }
    if (refused === undefined) this.totals.failed += 1;
    return refused;
  }

  async #askOne(upstream: Upstream, query: Query, total: AbortSignal): Promise<Received> {
    const { clock, random } = this.#options;
    const id = Math.floor(random() * 2 ** 16);
    const packet = encodeUpstreamQuery(query, id);
    const accept = (bytes: Buffer) => readReceived(bytes, id, query);
    using signal = withDeadline(clock, total, ATTEMPT_MS);
    const received = await exchange(upstream, packet, accept, { transport: 'udp', signal });
    if (!received.isTruncated) return received;
    return await exchange(upstream, packet, accept, { transport: 'tcp', signal });
  }

  #inOrder(): readonly Upstream[] {
    const all = this.#options.upstreams();
    const preferred = all.filter(({ address }) => address === this.#preferred);
    return [...preferred, ...all.filter(({ address }) => address !== this.#preferred)];
  }
}

class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';

  constructor(problems: ReadonlyMap<string, string>) {
    const reasons = [...problems].map(([address, reason]) => `${address}: ${reason}`);
    super(
      reasons.length === 0 ? 'the host has no resolver' : `no resolver of the host answered: ${reasons.join('; ')}`,
    );
  }
}

/** Returns undefined if a record of the answer cannot be read. */
function readAnswers({ received, keptSeconds }: Fetched): readonly OwnedRecord[] | undefined {
  try {
    return receivedAnswers(received, keptSeconds).map((record) => ({
      owner: { name: record.name },
      data: { type: 'foreign', record },
    }));
  } catch {
    // Any error of the library means that the response is invalid.
    return undefined;
  }
}
