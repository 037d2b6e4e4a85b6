/** An agent's calls to its engine and its API server. After a chosen call the agent is dead, as if it was killed at that moment. */
export class MortalCalls {
  readonly death = new AbortController();
  /** `NAME #1`: the name of a call and its number among the calls of that name, in the order in which they ended. */
  readonly made: string[] = [];
  readonly #counts = new Map<string, number>();
  #last = '';
  #phase: 'starting' | 'counting' = 'starting';

  /** Counts from now on, because an agent's calls at its start are not part of a pod's life. */
  begin(): void {
    this.#phase = 'counting';
  }

  /** The call is carried out, but its result is lost. */
  dieAfter(call: string): void {
    this.#last = call;
  }

  /** Returns a port whose calls are counted. Streams are not counted: a restarted agent reads them again, so their data is not lost. */
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

  /** Counts a call that was carried out. Its result must not reach a dead agent. */
  count(name: string): 'alive' | 'dead' {
    if (this.death.signal.aborted) return 'dead';
    if (this.#phase === 'starting') return 'alive';
    const number = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, number);
    const call = `${name} #${number}`;
    this.made.push(call);
    if (call === this.#last) this.death.abort(new DOMException('the agent was killed', 'AbortError'));
    return call === this.#last ? 'dead' : 'alive';
  }

  #call(name: string, work: () => unknown): unknown {
    if (this.death.signal.aborted) return Promise.reject(this.death.signal.reason);
    const result = work();
    if (!(result instanceof Promise)) return result;
    return result.then((value: unknown) => {
      if (this.count(name) === 'dead') throw this.death.signal.reason;
      return value;
    });
  }
}
