import { type Clock, must, pause } from '@gantry/base';
import { type ConfigMap, CONFIG_MAPS } from '@gantry/objects';
import { Candidate, findElector } from './candidate.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const CANDIDATES = 2;
const NAME = 'writer';
/** The leader is away now and then for longer than its Lease (deploy/elector/main.go). */
const PRESENT_MS = 12_000;
const AWAY_MS = 10_000;

/** Writers that a Lease elects, as a user's program does it in Go. */
export const ELECTOR_WORKLOAD: Workload = {
  name: 'electors',
  restores: 'known',
  what: "Two Go programs elect a writer by a Lease (client-go's elector); the one that leads is frozen or cut off from the API, by turns. By their own records, never do both lead, no write of a former leader is stored, and in the end one writes.",
  missing: () =>
    findElector() === undefined
      ? 'its program is not built from the present sources: sh deploy/bin/ensure-elector'
      : undefined,
  start: async (context, stop) => await startElectors(context, stop, [must(findElector(), 'the elector')]),
};

/** `program` is the candidates' program, with its first arguments. */
export async function startElectors(
  context: WorkloadContext,
  stop: AbortSignal,
  program: readonly [string, ...string[]],
): Promise<RunningWorkload> {
  const { namespace, clock, untilRight } = context;
  const key = { namespace, name: NAME };
  const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: key };
  await context.create(CONFIG_MAPS, object);
  const candidates = Array.from(
    { length: CANDIDATES },
    (_, index) => new Candidate(context, `electors-${index}`, key, program),
  );
  const disturbing = disturb(candidates, clock, stop);
  const written = () => candidates.reduce((sum, one) => sum + one.written, 0);
  return {
    finish: async () => {
      await disturbing;
      const before = written();
      // That no two terms overlap and no former leader writes, the checker finds (I4, I2).
      const wrong = await untilRight(
        async () => await Promise.resolve(written() > before ? [] : [`no candidate of the Lease ${NAME} writes`]),
      );
      const ends = await Promise.all(candidates.map((candidate) => candidate.end()));
      return [...wrong, ...ends.flat()];
    },
  };
}

async function disturb(candidates: readonly Candidate[], clock: Clock, stop: AbortSignal): Promise<void> {
  for (let turn = 0; ; turn++) {
    await pause(clock, PRESENT_MS, stop);
    if (stop.aborted) return;
    const leader = candidates.find(({ leads }) => leads);
    if (turn % 2 === 0) await leader?.freeze(AWAY_MS, stop);
    else await leader?.cutOff(AWAY_MS, stop);
  }
}
