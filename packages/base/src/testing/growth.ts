/** Work on input of one shape, whose size grows. */
export interface GrowingInput {
  /** What is measured: `proxy: links of a page`. */
  readonly name: string;
  /** The largest input that is accepted. The others are a half, a quarter and an eighth of it. */
  readonly largest: number;
  /** Creates an input. The returned function does the work; it may be called several times. */
  readonly prepare: (size: number) => () => unknown;
}

export interface Growth {
  /** Lines of a table: size, processor time, longest turn of the event loop. */
  readonly report: string;
  /** Processor time of the largest input, divided by what linear growth would take. */
  readonly excess: number;
}

/** The largest `excess` of work in linear time; of quadratic work it is 8. Garbage collections and caches make larger inputs slower. */
export const MAX_EXCESS = 3;

const RUNS = 3;
/** Shorter times are mostly noise. */
const COMPARED_MS = 20;

/** Measures work on inputs whose size doubles. All times are processor time of this thread, because a busy machine makes others longer. */
export async function measureGrowth({ name, largest, prepare }: GrowingInput): Promise<Growth> {
  const rows: string[] = [];
  let excess = 1;
  let before: number | undefined;
  // The first call compiles the code.
  await measured(prepare(Math.ceil(largest / 8)));
  for (const share of [8, 4, 2, 1]) {
    const size = Math.ceil(largest / share);
    const work = prepare(size);
    let best = await measured(work);
    for (let run = 1; run < RUNS; run++) {
      const next = await measured(work);
      best = { cpuMs: Math.min(best.cpuMs, next.cpuMs), turnMs: Math.min(best.turnMs, next.turnMs) };
    }
    rows.push(`${name}, ${size}: ${best.cpuMs.toFixed(1)} ms, longest turn ${best.turnMs.toFixed(1)} ms`);
    if (before === undefined) before = best.cpuMs;
    if (share === 1 && best.cpuMs > COMPARED_MS) excess = best.cpuMs / (8 * Math.max(before, COMPARED_MS / 8));
  }
  return { report: `${rows.join('\n')}\n`, excess };
}

async function measured(work: () => unknown): Promise<{ readonly cpuMs: number; readonly turnMs: number }> {
  let isRunning = true;
  let turnMs = 0;
  const start = cpuMs();
  let turnStart = start;
  const endTurn = (): void => {
    const now = cpuMs();
    turnMs = Math.max(turnMs, now - turnStart);
    turnStart = now;
    if (isRunning) setImmediate(endTurn);
  };
  setImmediate(endTurn);
  await work();
  isRunning = false;
  endTurn();
  return { cpuMs: cpuMs() - start, turnMs };
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
