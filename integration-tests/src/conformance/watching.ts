import { type KubeConfig, type KubernetesObject, Watch } from '@kubernetes/client-node';

const PATIENCE_MS = 120_000;

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

export interface Seen<T> {
  readonly type: EventType;
  readonly object: T;
}

/** A watch through the client library, whose events are taken one by one. Dispose of it to end it. */
export class Watching<T extends KubernetesObject> implements Disposable {
  readonly #waiting: Seen<T>[] = [];
  #taker: (() => void) | undefined;
  #ended: unknown;
  #stop: AbortController | undefined;

  /** Resolves when the server has answered the request, so that whatever happens next is seen. */
  static async open<T extends KubernetesObject>(
    config: KubeConfig,
    path: string,
    query: Readonly<Record<string, string | number | boolean | undefined>> = {},
  ): Promise<Watching<T>> {
    const watching = new Watching<T>();
    const take = (type: string, object: T) => watching.#take({ type: type as EventType, object });
    watching.#stop = await new Watch(config).watch(path, { ...query }, take, (error) => watching.#end(error));
    return watching;
  }

  /** The next event, whatever it is. */
  async next(what = 'an event'): Promise<Seen<T>> {
    const found = await this.until(what, () => true);
    return found;
  }

  /** The next event that matches; those before it are dropped. */
  async until(what: string, matches: (event: Seen<T>) => boolean): Promise<Seen<T>> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const event = this.#waiting.shift();
      if (event !== undefined) {
        if (matches(event)) return event;
        continue;
      }
      if (this.#ended !== undefined) throw new Error(`the watch ended before ${what}`, { cause: this.#ended });
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`no watch event within ${PATIENCE_MS / 1000} s: ${what}`);
      await this.#more(left);
    }
  }

  [Symbol.dispose](): void {
    this.#stop?.abort();
  }

  #take(event: Seen<T>): void {
    this.#waiting.push(event);
    this.#taker?.();
  }

  #end(error: unknown): void {
    this.#ended = error ?? 'closed by the server';
    this.#taker?.();
  }

  /** Resolves when there is something to look at, or the time is over. */
  async #more(timeoutMs: number): Promise<void> {
    await new Promise<void>((done) => {
      const timer = setTimeout(done, timeoutMs);
      this.#taker = () => {
        clearTimeout(timer);
        done();
      };
    });
    this.#taker = undefined;
  }
}
