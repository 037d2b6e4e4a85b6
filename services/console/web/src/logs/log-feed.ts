import { backoffMs, type Clock, pause, type Random } from '@gantry/base';
import type { StatusError } from '@gantry/objects';
import { LineCutter, LogBuffer, type LogLine, splitTime } from './log-buffer.ts';

/** A WebSocket, as far as logs need one. */
export type LogSocket = Pick<WebSocket, 'binaryType' | 'addEventListener' | 'close'>;

/** A log of one container. */
export interface LogSource {
  /** Shown with each line when there are several. */
  readonly name: string;
  /** The path of the pod's `log` subresource. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

interface Options {
  readonly open: (path: string, protocol: string) => LogSocket;
  /** Why a log cannot be read, in the server's words; undefined when it can. Browsers do not say why a WebSocket failed. */
  readonly explain: (path: string) => Promise<StatusError | undefined>;
  readonly clock: Clock;
  readonly random: Random;
  /** Lines that are kept, and the characters of all of them. */
  readonly maxLines: number;
  readonly maxCharacters: number;
}

/** What a feed has. A new view after each change. */
export interface LogView {
  readonly lines: readonly LogLine[];
  readonly forgotten: number;
  /** Of sources: why there is nothing more. */
  readonly notes: ReadonlyMap<string, string>;
}

/** Logs of containers that are followed at the same time. */
export const MAX_SOURCES = 60;
const PUBLISH_MS = 100;
const BACKOFF = { initialMs: 1_000, maxMs: 10_000 };
const NORMAL = 1000;

/** Follows the logs of several containers. They come over WebSockets: of other requests a browser has six at the same time. */
export class LogFeed {
  readonly #options: Options;
  readonly #buffer: LogBuffer;
  readonly #notes = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  #view: LogView;
  #cancelPublish: (() => void) | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#buffer = new LogBuffer(options.maxLines, options.maxCharacters);
    this.#view = { lines: [], forgotten: 0, notes: this.#notes };
  }

  readonly view = (): LogView => this.#view;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Reads one source until its end, or until the signal is aborted. Continues after a lost connection. */
  async follow({ name, path, query }: LogSource, signal: AbortSignal): Promise<void> {
    const { explain, clock, random } = this.#options;
    let lastTime = '';
    const add = (lines: readonly string[]) => {
      const fresh = lastTime === '' ? lines : lines.filter((line) => splitTime(line).time > lastTime);
      const time = lines.findLast((line) => splitTime(line).time !== '');
      if (time !== undefined && splitTime(time).time > lastTime) lastTime = splitTime(time).time;
      this.#buffer.add(name, fresh);
      this.#publishSoon();
    };
    for (let failures = 1; !signal.aborted; failures++) {
      const { tailLines: _, ...rest } = query;
      const since = lastTime === '' ? query : { ...rest, sinceTime: lastTime };
      const full = `${path}?${new URLSearchParams({ ...since, timestamps: 'true' })}`;
      const before = lastTime;
      const code = await this.#read(full, add, signal);
      if (lastTime !== before) failures = 1;
      if (code === NORMAL || signal.aborted) return;
      const error = await explain(`${path}?${new URLSearchParams({ ...query, follow: 'false', tailLines: '1' })}`);
      if (signal.aborted) return;
      this.#note(name, error?.message ?? 'the connection was lost; trying again');
      if (error !== undefined && error.code < 500 && error.code !== 429 && error.code !== 400) return;
      await pause(clock, backoffMs(BACKOFF, failures, random), signal);
    }
  }

  #read(path: string, add: (lines: readonly string[]) => void, signal: AbortSignal): Promise<number> {
    return new Promise((resolve) => {
      const socket = this.#options.open(path, 'binary.k8s.io');
      socket.binaryType = 'arraybuffer';
      const decoder = new TextDecoder();
      const cutter = new LineCutter();
      const close = () => socket.close();
      socket.addEventListener('message', ({ data }) =>
        add(cutter.push(decoder.decode(data as ArrayBuffer, { stream: true }))),
      );
      socket.addEventListener('close', ({ code }) => {
        signal.removeEventListener('abort', close);
        add(cutter.end());
        resolve(code);
      });
      signal.addEventListener('abort', close, { once: true });
    });
  }

  #note(source: string, note: string): void {
    this.#notes.set(source, note);
    this.#publishSoon();
  }

  #publishSoon(): void {
    this.#cancelPublish ??= this.#options.clock.setTimer(PUBLISH_MS, () => {
      this.#cancelPublish = undefined;
      const { lines, forgotten } = this.#buffer;
      this.#view = { lines, forgotten, notes: new Map(this.#notes) };
      for (const listener of this.#listeners) listener();
    });
  }
}
