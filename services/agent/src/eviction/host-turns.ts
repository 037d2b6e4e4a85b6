import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@gantry/base';
import { replaceFile } from '@gantry/service';
import { readIfThere } from '../files/if-there.ts';
import { compareRanks, type Rank } from './rank.ts';

/** The rank of an agent that has not written for this long is ignored: the agent is gone, or waits for an evicted pod to end. */
const FRESH_MS = 15_000;
const FILE = 'pressure.json';

interface WrittenRank {
  readonly atMs: number;
  readonly rank: Rank;
}

/**
 * Coordinates the evictions of the agents of one host, which see a shortage of the host at the same time. Each agent writes the rank of
 * its next pod into its node's folder, which all can read. The agent whose pod comes first evicts it. So one pod per host is evicted at a
 * time, in the order of all pods of the host.
 */
export class HostTurns {
  readonly #folder: string;
  readonly #node: string;
  readonly #clock: Clock;
  /** From the monotonic clock, because the system clock may be set. */
  #writtenMs = -Infinity;

  /** `folder` contains a folder for each node of the host. */
  constructor(folder: string, node: string, clock: Clock) {
    this.#folder = folder;
    this.#node = node;
    this.#clock = clock;
  }

  /**
   * Whether this node's pod is the next one to evict. Always false at the first call of a shortage, because the other agents may not have
   * written yet. Call it at each synchronisation until the shortage ends.
   */
  async isOurs(rank: Rank): Promise<boolean> {
    const nowMs = this.#clock.now();
    const passedMs = this.#clock.monotonicMs();
    const isNew = passedMs - this.#writtenMs > FRESH_MS;
    this.#writtenMs = passedMs;
    await this.#write({ atMs: nowMs, rank });
    if (isNew) return false;
    const others = await this.#others(nowMs);
    return others.every(({ node, written }) => {
      const order = compareRanks(rank, written.rank);
      return order < 0 || (order === 0 && this.#node < node);
    });
  }

  async #others(nowMs: number): Promise<readonly { readonly node: string; readonly written: WrittenRank }[]> {
    const found: { node: string; written: WrittenRank }[] = [];
    for (const node of await readdir(this.#folder)) {
      const written = node === this.#node ? undefined : await readRank(join(this.#folder, node, FILE));
      // A future time was written before the system clock was set back.
      if (written !== undefined && Math.abs(nowMs - written.atMs) <= FRESH_MS) found.push({ node, written });
    }
    return found;
  }

  /** Replaces the file atomically, since others may read it at any time. */
  async #write(written: WrittenRank): Promise<void> {
    const folder = join(this.#folder, this.#node);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await replaceFile(join(folder, FILE), JSON.stringify(written), { mode: 0o600 });
  }
}

/** Undefined for a node without a file, for a node that was removed meanwhile, and for a damaged file. */
async function readRank(path: string): Promise<WrittenRank | undefined> {
  const text = await readIfThere(path, ['ENOENT', 'ENOTDIR']);
  return text === undefined ? undefined : parseRank(text);
}

/** Undefined for a truncated file; its node rewrites it at its next synchronisation. */
function parseRank(text: string): WrittenRank | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isWrittenRank(found) ? found : undefined;
}

function isWrittenRank(found: unknown): found is WrittenRank {
  if (typeof found !== 'object' || found === null) return false;
  const { atMs, rank } = found as { readonly atMs?: unknown; readonly rank?: unknown };
  return typeof atMs === 'number' && Array.isArray(rank) && rank.every((part) => typeof part === 'number');
}
