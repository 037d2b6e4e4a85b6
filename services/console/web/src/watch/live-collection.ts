import { backoffMs, type Clock, errorMessage, pause, type Random, setPatientTimer, withDeadline } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import type { Status } from '@gantry/objects';
import { linesOf } from './lines.ts';
import { type EventSocket, messagesOf, SocketClosedError } from './messages.ts';

/** How a response represents rows: as objects, or as rows of a Table. */
export interface Format<Row> {
  readonly accept: string;
  readonly query: Readonly<Record<string, string>>;
  /** The rows of a list, or of the object of a watch event. */
  rowsOf(body: unknown): readonly Row[];
  /** Unique in the collection; the same for all states of an object. */
  keyOf(row: Row): string;
}

/** `listing` until the first list has ended; `live` while a watch runs; `broken` between a failure and the next success. */
type Phase = 'listing' | 'live' | 'broken';

/** A view of a collection. Each change makes a new view, but its map of rows may be the same: derive from the view, not from the map. */
export interface Collection<Row> {
  readonly phase: Phase;
  readonly rows: ReadonlyMap<string, Row>;
  /** Why it is broken. */
  readonly error?: StatusError | undefined;
  readonly resourceVersion?: string | undefined;
}

interface Options<Row> {
  readonly fetch: (path: string, options: { accept: string; signal: AbortSignal }) => Promise<Response>;
  /** Opens watches as WebSockets: of other requests a browser has six at the same time. Absent: as streams of lines. */
  readonly openSocket?: ((path: string) => EventSocket) | undefined;
  readonly path: string;
  /** Selectors, for example. */
  readonly query?: Readonly<Record<string, string>>;
  readonly format: Format<Row>;
  readonly clock: Clock;
  readonly random: Random;
  /** Lists once, at this revision exactly, and does not watch. */
  readonly at?: string | undefined;
  /** Views of changes are published this often at most. */
  readonly publishMs?: number | undefined;
}

interface ListMeta {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
}

interface WatchEvent {
  readonly type?: string;
  readonly object?: unknown;
}

/** Rows of one page of a list: what a browser parses in a few milliseconds. */
const PAGE = 500;
/** The API server ends a list after a minute. */
const LIST_MS = 65_000;
/** What looks immediate to a person, and spares the page a view for each event. */
const PUBLISH_MS = 100;
/** The server sends a bookmark each minute. */
const SILENCE_MS = 150_000;
/** With the jitter, work goes on 5 s after an outage. */
const BACKOFF = { initialMs: 500, maxMs: 4_000 };
/** The server will give the same answer soon: do not ask it often. */
const REFUSED_MS = 30_000;

/**
 * Objects as the server has them now: lists, then watches. After a failure it tries again with back-off and continues where it was; after
 * 410 (Gone) it lists again, and the old rows stay until the new ones are complete.
 */
export class LiveCollection<Row> {
  readonly #options: Options<Row>;
  readonly #listeners = new Set<() => void>();
  #rows = new Map<string, Row>();
  #resourceVersion: string | undefined;
  #view: Collection<Row> = { phase: 'listing', rows: this.#rows };
  #cancelPublish: (() => void) | undefined;
  /** Consecutive failures. Those by 410 are counted apart: the first one after a long outage is not the last of many. */
  #failures = { gone: 0, other: 0 };

  constructor(options: Options<Row>) {
    this.#options = options;
  }

  /** The latest view. The same object until something changes. */
  readonly view = (): Collection<Row> => this.#view;

  /** Calls `listener` after changes; returns the end of the subscription. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Runs until the signal is aborted. May be called again afterwards: it continues where it was. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#resourceVersion === undefined) await this.#list(signal);
        if (this.#options.at !== undefined) return;
        await this.#watch(signal);
      } catch (error) {
        if (!signal.aborted) await this.#recover(error, signal);
      }
    }
  }

  async #recover(cause: unknown, signal: AbortSignal): Promise<void> {
    const error = cause instanceof StatusError ? cause : new StatusError('', errorMessage(cause), { code: 503 });
    const kind = error.code === 410 && this.#resourceVersion !== undefined ? 'gone' : 'other';
    const failures = ++this.#failures[kind];
    if (kind === 'gone') {
      this.#resourceVersion = undefined;
      if (failures === 1) return;
    }
    this.#publish('broken', error);
    const { clock, random } = this.#options;
    const isRefusal = error.code === 403 || error.code === 404;
    await pause(clock, isRefusal ? REFUSED_MS : backoffMs(BACKOFF, failures, random), signal);
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { format, at } = this.#options;
    const isFirst = this.#view.phase === 'listing';
    const rows = isFirst ? this.#rows : new Map<string, Row>();
    rows.clear();
    let meta: ListMeta['metadata'] = {};
    do {
      const position = positionOf(meta?.continue, at);
      using due = withDeadline(this.#options.clock, signal, LIST_MS);
      const response = await this.#get({ limit: String(PAGE), ...position }, due);
      const body = (await response.json()) as ListMeta;
      for (const row of format.rowsOf(body)) rows.set(format.keyOf(row), row);
      meta = body.metadata;
      if (isFirst && meta?.continue) this.#publishSoon();
    } while (meta?.continue);
    this.#rows = rows;
    this.#resourceVersion = meta?.resourceVersion ?? '';
    this.#succeed();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const silence = new AbortController();
    const ended = AbortSignal.any([signal, silence.signal]);
    let cancel = () => {};
    const listen = () => {
      cancel();
      cancel = setPatientTimer(this.#options.clock, SILENCE_MS, () =>
        silence.abort(new StatusError('Timeout', 'the server has sent nothing for a long time')),
      );
    };
    try {
      listen();
      let isSilent = true;
      for await (const line of this.#events(ended)) {
        listen();
        if (line === '') {
          this.#succeed();
          continue;
        }
        isSilent = false;
        this.#apply(JSON.parse(line) as WatchEvent);
      }
      if (isSilent) await pause(this.#options.clock, BACKOFF.initialMs, signal);
    } finally {
      cancel();
    }
  }

  /** The lines or messages of a watch. The first is empty: the server has accepted the watch. */
  async *#events(signal: AbortSignal): AsyncGenerator<string> {
    const { openSocket, fetch, format } = this.#options;
    const resourceVersion = this.#resourceVersion ?? '';
    const path = this.#pathOf({ watch: '1', allowWatchBookmarks: 'true', resourceVersion });
    const request = async () => await fetch(path, { accept: format.accept, signal });
    if (openSocket === undefined) {
      const { body } = await request();
      if (body === null) throw new StatusError('InternalError', 'the server sent no body for a watch');
      yield '';
      yield* linesOf(body);
      return;
    }
    try {
      yield* messagesOf(openSocket(path), signal);
    } catch (error) {
      // The same as an ordinary request says why it is refused.
      if (error instanceof SocketClosedError) await (await request()).body?.cancel();
      throw error;
    }
  }

  #apply({ type, object }: WatchEvent): void {
    if (type === 'ERROR') throw statusErrorOf(object as Status);
    this.#failures = { gone: 0, other: 0 };
    const { format } = this.#options;
    const version = versionOf(object);
    if (version !== undefined) this.#resourceVersion = version;
    if (type === 'BOOKMARK') return;
    for (const row of format.rowsOf(object)) {
      if (type === 'DELETED') this.#rows.delete(format.keyOf(row));
      else this.#rows.set(format.keyOf(row), row);
    }
    this.#publishSoon();
  }

  #get(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    const { fetch, format } = this.#options;
    return fetch(this.#pathOf(query), { accept: format.accept, signal });
  }

  #pathOf(query: Readonly<Record<string, string>>): string {
    const { path, format } = this.#options;
    return `${path}?${new URLSearchParams({ ...this.#options.query, ...format.query, ...query })}`;
  }

  #succeed(): void {
    if (this.#resourceVersion !== undefined) this.#publish('live', undefined);
  }

  #publishSoon(): void {
    const { clock, publishMs = PUBLISH_MS } = this.#options;
    this.#cancelPublish ??= clock.setTimer(publishMs, () => this.#publish(this.#view.phase, this.#view.error));
  }

  #publish(phase: Phase, error: StatusError | undefined): void {
    this.#cancelPublish?.();
    this.#cancelPublish = undefined;
    const resourceVersion = this.#resourceVersion;
    this.#view = { phase, error, rows: this.#rows, resourceVersion };
    for (const listener of this.#listeners) listener();
  }
}

/** Where a page of a list begins. Later pages are of the first one's revision by themselves. */
function positionOf(next: string | undefined, at: string | undefined): Readonly<Record<string, string>> {
  if (next) return { continue: next };
  return at === undefined ? {} : { resourceVersion: at, resourceVersionMatch: 'Exact' };
}

function statusErrorOf({ code, reason, message }: Status): StatusError {
  return new StatusError((reason ?? '') as StatusError['reason'], message ?? 'the watch failed', { code: code ?? 500 });
}

/** The version of a watch event's object: its own, or that of the only row of a Table. */
function versionOf(object: unknown): string | undefined {
  const { kind, metadata, rows } = object as {
    kind?: string;
    metadata?: { resourceVersion?: string };
    rows?: readonly { object?: { metadata?: { resourceVersion?: string } } }[];
  };
  const own = metadata?.resourceVersion || undefined;
  return kind === 'Table' ? (rows?.at(-1)?.object?.metadata?.resourceVersion ?? own) : own;
}
