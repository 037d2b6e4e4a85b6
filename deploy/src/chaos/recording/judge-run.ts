import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type Clock, errorMessage, pause } from '@gantry/base';
import type { FollowAnswer, VerdictSoFar } from '@gantry/chaos-checker';
import { startLines } from './line-process.ts';
import type { RunFolder } from './run-folder.ts';

const CHECKER = fileURLToPath(new URL('../../../../packages/chaos-checker/src/main.ts', import.meta.url));
const HEAP_MIB = 1024;
/** From the beginning of a check to the next one: at least this time, and so long that the checks take this share of a processor. */
const EVERY_MS = 3_000;
const SHARE = 0.03;

export interface JudgeOptions {
  readonly folder: Pick<RunFolder, 'path' | 'flushed'>;
  /** That of the folder's lines. */
  readonly clock: Clock;
  readonly onVerdict: (verdict: VerdictSoFar) => void;
  /** Why the run is not judged. */
  readonly onProblem: (text: string) => void;
}

/**
 * Lets the checker judge a run again and again while it is recorded, until aborted. The checker reads all of it each time, in a process of
 * its own with low priority. Its failure does not concern the run. Never rejects.
 */
export async function judgeRun(
  { folder, clock, onVerdict, onProblem }: JudgeOptions,
  stop: AbortSignal,
): Promise<void> {
  const node = [`--max-old-space-size=${HEAP_MIB}`, '--conditions=gantry-source'];
  let onLine = (_: string): void => undefined;
  const args = [...node, CHECKER, '--follow', folder.path];
  const { child, ended } = startLines(process.execPath, args, stop, (line) => onLine(line), 'open');
  const over = ended.then(() => undefined);
  lowerPriority(child.pid);
  let problem = '';
  const say = (text: string): void => {
    if (text !== problem) onProblem(text);
    problem = text;
  };
  while (!stop.aborted) {
    const untilMs = clock.monotonicMs();
    await folder.flushed();
    const answered = new Promise<string>((resolve) => (onLine = resolve));
    child.stdin.write(`${untilMs}\n`);
    const line = await Promise.race([answered, over]);
    if (line === undefined) break;
    const answer = JSON.parse(line) as FollowAnswer;
    if ('problem' in answer) say(`the run is not judged yet: ${answer.problem}`);
    else onVerdict(answer);
    const nextMs = untilMs + Math.max(EVERY_MS, answer.cpuMs / SHARE);
    await pause(clock, Math.max(0, nextMs - clock.monotonicMs()), stop);
  }
  const said = await ended;
  if (!stop.aborted) say(`the run is judged at its end only: the checker ended: ${said}`);
}

function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch (error) {
    // It has ended already, which `ended` reports.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw new TypeError(errorMessage(error), { cause: error });
  }
}
