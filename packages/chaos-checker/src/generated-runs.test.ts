import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { check } from './check.ts';
import { edit, type EditableRun, type ObjectPut, putsOf, writeRun } from './testing/editable-run.ts';
import { GENERATED_STEPS, type GeneratedStep, generateRun } from './testing/generated-run.ts';

async function violationsOf(run: EditableRun): Promise<readonly string[]> {
  await using written = await writeRun(run);
  const { outcome, invariants } = await check(written.folder);
  return [outcome, ...invariants.flatMap(({ invariant, violationCount }) => (violationCount > 0 ? [invariant] : []))];
}

/** Of the puts that fit, one that the number chooses; the run is left out if there is none. */
function choose(puts: readonly ObjectPut[], choice: number): ObjectPut {
  fc.pre(puts.length > 0);
  return puts[choice % puts.length] as ObjectPut;
}

const inRuns = async (property: (steps: readonly GeneratedStep[], choice: number) => Promise<void>) => {
  await fc.assert(fc.asyncProperty(GENERATED_STEPS, fc.nat(1000), property), { numRuns: 40, seed: 1 });
};

describe('a generated run', () => {
  it('has no violation', async () => {
    await inRuns(async (steps) => {
      expect(await violationsOf(generateRun(steps))).toEqual(['ok']);
    });
  });

  it('has a violation of I2 if any write names another epoch', async () => {
    await inRuns(async (steps, choice) => {
      const run = generateRun(steps);
      edit([choose(putsOf(run, 'pods/'), choice)], () => undefined, { epoch: 1 });
      expect(await violationsOf(run)).toEqual(['violations', 'I2']);
    });
  });

  it('has a violation of I7 if any bound pod moves', async () => {
    await inRuns(async (steps, choice) => {
      const run = generateRun(steps);
      const isLater = ({ event, object }: ObjectPut) =>
        object.spec?.nodeName !== undefined && object.status !== undefined && event.version > 1;
      const moved = choose(putsOf(run, 'pods/').filter(isLater), choice);
      edit([moved], (pod) => {
        pod.spec = { nodeName: 'elsewhere' };
      });
      expect(await violationsOf(run)).toContain('I7');
    });
  });

  it('has a violation of I35 if any Service gets an address that is taken', async () => {
    await inRuns(async (steps, choice) => {
      const run = generateRun(steps);
      const [first, ...others] = putsOf(run, 'services/');
      const second = choose(others, choice);
      edit([second], (service) => {
        service.spec = { ...first?.object.spec };
      });
      expect(await violationsOf(run)).toEqual(['violations', 'I35']);
    });
  });

  it('is unusable without any one of its revisions', async () => {
    await inRuns(async (steps, choice) => {
      const run = generateRun(steps);
      run.history.splice(choice % run.history.length, 1);
      expect((await violationsOf(run))[0]).not.toBe('ok');
    });
  });
});
