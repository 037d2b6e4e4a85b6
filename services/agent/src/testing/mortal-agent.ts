/** The calls of an agent to its engine and its API server. After a chosen one it is dead: as if killed at that instant. */
export class MortalCalls {
  readonly death = new AbortController();
  readonly names: string[] = [];
  #last = Number.POSITIVE_INFINITY;

  /** Lets it make so many more calls. The last one is carried out, and its result is lost. */
  dieAfter(count: number): void {
    this.#last = this.names.length + count;
  }

  /** A port whose calls are counted. Streams are not: what they bring is not lost, a restarted agent reads it anew. */
  wrap<Port extends object>(port: Port, path = ''): Port {
    return new Proxy(port, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        const name = `${path}${String(key)}`;
        if (typeof value === 'object' && value !== null) return this.wrap(value, `${name}.`);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => this.#call(name, () => Reflect.apply(value, target, args));
      },
    });
  }

  #call(name: string, work: () => unknown): unknown {
    if (this.death.signal.aborted) return Promise.reject(this.death.signal.reason);
    const result = work();
    if (!(result instanceof Promise)) return result;
    this.names.push(name);
    const number = this.names.length;
    return result.then((value: unknown) => this.#end(number, value));
  }

  #end(number: number, value: unknown): unknown {
    if (number === this.#last) this.death.abort(new DOMException('the agent was killed', 'AbortError'));
    this.death.signal.throwIfAborted();
    return value;
  }
}
