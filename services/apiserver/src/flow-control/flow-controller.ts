import { type Clock, pause } from '@gantry/base';
import {
  MANDATORY_FLOW_SCHEMAS,
  MANDATORY_PRIORITY_LEVELS,
  SUGGESTED_FLOW_SCHEMAS,
  SUGGESTED_PRIORITY_LEVELS,
} from '@gantry/kinds';
import { type FlowSchema, type PriorityLevelConfiguration, StatusError } from '@gantry/objects';
import type { Metrics } from '@gantry/service';
import { planSeats } from './borrowing.ts';
import { createFlowMetrics, type Lent } from './flow-meters.ts';
import { type CompiledSchema, type FlowRequest, FlowSchemas } from './flow-schemas.ts';
import { type LevelSettings, PriorityLevel, RejectedError, type RequestType, type Seats } from './priority-level.ts';

/** Kubernetes' estimate: one seat per 100 objects of a list, at most 10. */
const OBJECTS_PER_SEAT = 100;
const MAX_SEATS = 10;

/** The seats of a list. A list without filters counts only the objects of its page; others count all objects of the resource. */
export function widthOfList(stored: number, limit: number, isFiltered: boolean): number {
  return widthOf(limit > 0 && !isFiltered ? Math.min(limit, stored) : stored);
}

/** The seats of a request that handles `objects` objects. */
export function widthOf(objects: number): number {
  return Math.min(MAX_SEATS, Math.max(1, Math.ceil(objects / OBJECTS_PER_SEAT)));
}

/** Seats for a gRPC call of a service. Rejects with TooManyRequests when flow control refuses the call. */
export async function admitCall(
  control: FlowController,
  request: FlowRequest,
  width: number,
  signal: AbortSignal,
): Promise<Seats> {
  try {
    return await control.admit(control.classify(request), request, width, signal);
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error;
    throw new StatusError('TooManyRequests', 'Too many requests, please try again later.', {
      details: { retryAfterSeconds: 1 },
    });
  }
}

/** Concurrent requests per server: Kubernetes' `--max-requests-inflight` plus `--max-mutating-requests-inflight`. */
const TOTAL_SEATS = 600;
/** The period of borrowing. */
const BORROW_MS = 10_000;

/** The stored configuration. Each method returns the same array until an object changes. */
export interface FlowSource {
  schemas(): readonly { readonly response: { readonly object: unknown } }[];
  levels(): readonly { readonly response: { readonly object: unknown } }[];
}

/** The flow schema and the priority level of a request. The response headers name them, also when the request is rejected. */
export interface Classified {
  readonly schema: CompiledSchema;
  readonly level: PriorityLevel;
}

export interface FlowControllerOptions {
  readonly source: FlowSource;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly totalSeats?: number;
}

/**
 * API priority and fairness: a request matches a flow schema, which names a priority level. The seats of the level limit the number of
 * concurrent requests. The stored objects are compiled again when one of them changes. Until they exist, Kubernetes' defaults apply.
 */
export class FlowController {
  readonly #source: FlowSource;
  readonly #clock: Clock;
  readonly #total: number;
  readonly #metrics: ReturnType<typeof createFlowMetrics>;
  readonly #levels = new Map<string, PriorityLevel>();
  #lent: Lent = { targets: new Map(), fairFraction: 0 };
  #schemas: FlowSchemas | undefined;
  #seenSchemas: unknown;
  #seenLevels: unknown;

  constructor({ source, clock, metrics, totalSeats = TOTAL_SEATS }: FlowControllerOptions) {
    this.#source = source;
    this.#clock = clock;
    this.#total = totalSeats;
    this.#metrics = createFlowMetrics(
      metrics,
      () => this.#levels.values(),
      () => this.#lent,
    );
  }

  /** The schema and the level of a request. */
  classify(request: FlowRequest): Classified {
    const schemas = this.#current();
    const schema = schemas.match(request) ?? NO_SCHEMA;
    const level = this.#levels.get(schema.level) ?? this.#levels.get('catch-all');
    if (level === undefined) throw new RejectedError('concurrency-limit');
    return { schema, level };
  }

  /**
   * Takes seats for a request; returns a promise if the request must wait. `width` is the number of seats that it needs, limited by
   * the level's maximum. Throws or rejects with a RejectedError.
   */
  admit(
    { schema, level }: Classified,
    request: FlowRequest,
    width: number,
    signal: AbortSignal,
  ): Seats | Promise<Seats> {
    const seats = width <= 1 ? 1 : Math.min(width, level.maxWidth);
    return level.tryStart(schema.name, seats, typeOf(request)) ?? this.#wait({ schema, level }, request, seats, signal);
  }

  async #wait({ schema, level }: Classified, request: FlowRequest, width: number, signal: AbortSignal): Promise<Seats> {
    const { name } = level.settings;
    const startedMs = this.#clock.monotonicMs();
    try {
      const seats = await level.wait(schema.name, schema.flowOf(request), width, signal, typeOf(request));
      this.#metrics.waited(name, schema.name, 'true', (this.#clock.monotonicMs() - startedMs) / 1000);
      return seats;
    } catch (error) {
      if (error instanceof RejectedError) this.#metrics.rejected(name, schema.name, error.reason);
      this.#metrics.waited(name, schema.name, 'false', (this.#clock.monotonicMs() - startedMs) / 1000);
      throw error;
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(this.#clock, BORROW_MS, signal);
      this.#current();
      this.lend();
    }
  }

  /** Computes and sets the seats of each level for the next period. */
  lend(): void {
    const levels = [...this.#levels.values()].filter(({ settings }) => settings.mode !== 'exempt');
    const demands = levels.map((level) => {
      const { nominal, lower, upper } = level.settings;
      return { nominal, lower, upper, ...level.endPeriod() };
    });
    const plan = planSeats(demands, this.#total);
    this.#lent = {
      targets: new Map(levels.map(({ settings }, i) => [settings.name, plan.targets[i] ?? 0])),
      fairFraction: plan.fairFraction,
    };
    for (const [i, level] of levels.entries()) level.setLimit(plan.seats[i] ?? level.settings.nominal);
  }

  #current(): FlowSchemas {
    const schemas = this.#source.schemas();
    const levels = this.#source.levels();
    if (this.#schemas !== undefined && schemas === this.#seenSchemas && levels === this.#seenLevels)
      return this.#schemas;
    this.#seenSchemas = schemas;
    this.#seenLevels = levels;
    this.#configure(objectsOf(levels));
    const known = (schema: FlowSchema): boolean => this.#levels.has(schema.spec?.priorityLevelConfiguration.name ?? '');
    // Schemas with an unknown level are ignored.
    this.#schemas = new FlowSchemas(
      withDefaults(objectsOf<FlowSchema>(schemas), DEFAULT_SCHEMAS, MANDATORY_FLOW_SCHEMAS).filter(known),
    );
    return this.#schemas;
  }

  #configure(stored: readonly PriorityLevelConfiguration[]): void {
    const wanted = withDefaults(stored, DEFAULT_LEVELS, MANDATORY_PRIORITY_LEVELS);
    const shares = wanted.reduce((sum, level) => sum + sharesOf(level), 0);
    for (const level of wanted) {
      const settings = settingsOf(level, shares, this.#total);
      const known = this.#levels.get(settings.name);
      if (known === undefined) this.#levels.set(settings.name, new PriorityLevel(settings, this.#clock));
      else known.configure(settings);
    }
    const names = new Set(wanted.map(({ metadata }) => metadata.name));
    // A removed level still serves the requests that wait in it.
    for (const name of this.#levels.keys()) if (!names.has(name)) this.#levels.delete(name);
  }
}

const DEFAULT_LEVELS = [...MANDATORY_PRIORITY_LEVELS, ...SUGGESTED_PRIORITY_LEVELS];
const DEFAULT_SCHEMAS = [...MANDATORY_FLOW_SCHEMAS, ...SUGGESTED_FLOW_SCHEMAS];

/** Used if no schema matches, not even the catch-all. */
const NO_SCHEMA: CompiledSchema = { name: 'catch-all', uid: '', level: 'catch-all', flowOf: ({ user }) => user.name };

function objectsOf<T>(entries: readonly { readonly response: { readonly object: unknown } }[]): readonly T[] {
  return entries.map(({ response }) => response.object as T);
}

/** The stored objects and the mandatory ones. While no object is stored, Kubernetes' defaults. */
function withDefaults<T extends { metadata: { name?: string } }>(
  stored: readonly T[],
  all: readonly T[],
  mandatory: readonly T[],
): readonly T[] {
  if (stored.length === 0) return all;
  const names = new Set(stored.map(({ metadata }) => metadata.name));
  return [...stored, ...mandatory.filter(({ metadata }) => !names.has(metadata.name))];
}

function sharesOf({ spec }: PriorityLevelConfiguration): number {
  const part = spec?.type === 'Exempt' ? spec.exempt : spec?.limited;
  return part?.nominalConcurrencyShares ?? (spec?.type === 'Exempt' ? 0 : 30);
}

/** Computes the seats of a level from its shares. Source: `PriorityLevelConfiguration` in Kubernetes' API. */
function settingsOf(level: PriorityLevelConfiguration, shares: number, total: number): LevelSettings {
  const { metadata, spec } = level;
  const nominal = Math.ceil((total * sharesOf(level)) / Math.max(1, shares));
  const isExempt = spec?.type === 'Exempt';
  const limited = spec?.limited;
  const lendable = (isExempt ? spec.exempt?.lendablePercent : limited?.lendablePercent) ?? 0;
  const borrowing = limited?.borrowingLimitPercent;
  const isQueued = limited?.limitResponse?.type === 'Queue';
  const { queues = 64, handSize = 8, queueLengthLimit = 50 } = limited?.limitResponse?.queuing ?? {};
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    mode: isExempt ? 'exempt' : isQueued ? 'queue' : 'reject',
    queues,
    handSize,
    queueLengthLimit,
    nominal: Math.max(1, nominal),
    lower: Math.max(1, nominal - Math.round((nominal * lendable) / 100)),
    upper: borrowing === undefined ? total : nominal + Math.round((nominal * borrowing) / 100),
  };
}

function typeOf({ verb }: FlowRequest): RequestType {
  return verb === 'watch' ? 'watch' : 'regular';
}
