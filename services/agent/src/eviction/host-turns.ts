import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@gantry/base';
import { replaceFile } from '@gantry/service';
import { readIfThere } from '../files/if-there.ts';
import { compareRanks, type Rank } from './rank.ts';

/** An agent that has not written for this long evicts nothing now: it is gone, or waits for the end of a pod. */
const FRESH_MS = 15_000;
const FILE = 'pressure.json';

interface WrittenRank {
  readonly atMs: number;
  readonly rank: Rank;
}

/**
 * Agents of one host see its shortage at the same time. Each writes where its next pod stands into its node's folder, which all of them
 * see, and the one whose pod comes first evicts it: one pod a host, in the order of the host's pods.
 */
export class HostTurns {
  readonly #folder: string;
  readonly #node: string;
  readonly #clock: Clock;
  /** Monotonic: the machine's clock may be set. */
  #writtenMs = -Infinity;

  /** `folder` has a folder for each node of the host. */
  constructor(folder: string, node: string, clock: Clock) {
    this.#folder = folder;
    this.#node = node;
    this.#clock = clock;
  }

  /**
   * Whether this node's pod is the one to go. Never at the first call of a shortage: the others may not have written yet. It is to be
   * called at each synchronisation until the shortage ends.
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
      // What was written in the future is from before the machine's clock was set back.
      if (written !== undefined && Math.abs(nowMs - written.atMs) <= FRESH_MS) found.push({ node, written });
    }
    return found;
  }

  /** Replaced as a whole: others read it at any time. */
  async #write(written: WrittenRank): Promise<void> {
    const folder = join(this.#folder, this.#node);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await replaceFile(join(folder, FILE), JSON.stringify(written), { mode: 0o600 });
  }
}

/** Undefined for a node that has never been short of anything, that was removed meanwhile, or whose file is damaged. */
async function readRank(path: string): Promise<WrittenRank | undefined> {
  const text = await readIfThere(path, ['ENOENT', 'ENOTDIR']);
  return text === undefined ? undefined : parseRank(text);
}

/** A file that was cut has no rank: its node writes it anew at its next synchronisation. */
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
