import type { ClientLine, ClientOperation } from '../artifacts.ts';
import { keyOf, parseResource } from '../history/world.ts';
import type { Source } from '../read-artifacts.ts';

/** A request of a client with its outcome. */
export interface Completed {
  /** The object's key in etcd. */
  readonly key: string;
  readonly client: string;
  readonly verb: ClientOperation['verb'];
  readonly invoked: ClientOperation;
  /** undefined: the file ends before. */
  readonly result: ClientOperation | undefined;
  readonly sources: readonly Source[];
}

/** Pairs the steps of the clients' requests. */
export class ClientOperations {
  readonly #open = new Map<string, { readonly line: ClientOperation; readonly source: Source }>();

  /** Returns the request that ends with this line, or `begun` for its first one. */
  step(line: ClientLine, source: Source): Completed | { readonly begun: string } | undefined {
    if (!('op' in line)) return undefined;
    const id = `${source.file} ${line.op}`;
    const key = keyOf(parseResource(line.resource, line.key));
    if (line.phase === 'invoke') {
      this.#open.set(id, { line, source });
      return { begun: key };
    }
    const before = this.#open.get(id);
    this.#open.delete(id);
    if (before === undefined) return undefined;
    const sources = [before.source, source];
    return { key, client: source.file, verb: before.line.verb, invoked: before.line, result: line, sources };
  }

  /** Requests whose outcome is not in the files. */
  rest(): readonly Completed[] {
    return [...this.#open.values()].map(({ line, source }) => ({
      key: keyOf(parseResource(line.resource, line.key)),
      client: source.file,
      verb: line.verb,
      invoked: line,
      result: undefined,
      sources: [source],
    }));
  }
}
