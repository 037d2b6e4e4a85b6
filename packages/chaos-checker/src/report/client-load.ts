import type { ClientLine } from '../artifacts.ts';
import type { World } from '../history/world.ts';
import type { Observer } from '../invariants/invariant.ts';
import type { Source } from '../read-artifacts.ts';
import type { ClientLoad } from '../verdict.ts';

/** A request with its further attempts. */
interface Chain {
  readonly dueMs: number;
  attempts: number;
  endMs: number;
  phase: 'invoke' | 'ok' | 'fail' | 'unknown';
  during: ClientLoad['during'];
}

/** Collects what clients of a load at a rate saw. They send one request at a time. */
export class ClientLoadObserver implements Observer {
  readonly #world: World;
  /** By file. */
  readonly #chains = new Map<string, Chain>();
  readonly #sides = { calm: new Side(), faults: new Side() };
  #lastOkMs: number | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  client(line: ClientLine, { file }: Source): void {
    if (!('op' in line)) return;
    if (line.phase === 'invoke' && line.dueMs !== undefined) {
      this.#end(file);
      this.#chains.set(file, { dueMs: line.dueMs, attempts: 1, endMs: line.atMs, phase: 'invoke', during: 'calm' });
      return;
    }
    const chain = this.#chains.get(file);
    if (chain === undefined) return;
    if (line.phase === 'invoke') {
      chain.attempts++;
      return;
    }
    Object.assign(chain, { endMs: line.atMs, phase: line.phase, during: this.#during(chain.dueMs) });
    if (line.phase === 'ok') this.#ok(line.atMs);
  }

  finish(): void {
    for (const file of this.#chains.keys()) this.#end(file);
  }

  /** Empty without such a load. */
  loads(): readonly ClientLoad[] {
    return (['calm', 'faults'] as const).flatMap((during) => {
      const side = this.#sides[during];
      return side.requests === 0 ? [] : [{ during, ...side.summary() }];
    });
  }

  #during(sinceMs: number): ClientLoad['during'] {
    const { calmSinceMs } = this.#world;
    return calmSinceMs !== undefined && calmSinceMs <= sinceMs ? 'calm' : 'faults';
  }

  #end(file: string): void {
    const chain = this.#chains.get(file);
    if (chain === undefined) return;
    this.#chains.delete(file);
    this.#sides[chain.during].add(chain);
  }

  #ok(atMs: number): void {
    const fromMs = this.#lastOkMs;
    this.#lastOkMs = atMs;
    if (fromMs !== undefined) this.#sides[this.#during(fromMs)].gap(atMs - fromMs);
  }
}

class Side {
  requests = 0;
  #repeated = 0;
  #failed = 0;
  #longestGapMs = 0;
  readonly #latencies: number[] = [];

  add({ dueMs, endMs, attempts, phase }: Chain): void {
    this.requests++;
    if (attempts > 1) this.#repeated++;
    if (phase === 'ok') this.#latencies.push(endMs - dueMs);
    else this.#failed++;
  }

  gap(ms: number): void {
    this.#longestGapMs = Math.max(this.#longestGapMs, ms);
  }

  summary(): Omit<ClientLoad, 'during'> {
    const sorted = Float64Array.from(this.#latencies).sort();
    const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
    return {
      requests: this.requests,
      repeated: this.#repeated,
      failed: this.#failed,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      maxMs: at(1),
      longestGapMs: this.#longestGapMs,
    };
  }
}
