import { Worker } from 'node:worker_threads';
import * as apimachinery from '@gantry/apimachinery';
import * as objects from '@gantry/objects';
import { expect, it } from 'vitest';
import { allCases } from './all-cases.ts';

/** Much longer than any case takes. A case that hangs is stopped and reported. */
const DEADLINE_MS = 30_000;

interface Report {
  readonly index: number;
  readonly state: 'begun' | 'done';
  readonly verdict?: string;
}

/** Measures the cases from `first` on in a worker thread. If a case hangs, stops the thread and returns the next case. */
async function measureFrom(first: number, onVerdict: (index: number, verdict: string) => void): Promise<number> {
  const worker = new Worker(new URL('./measure-worker.ts', import.meta.url), {
    execArgv: ['--conditions=gantry-source'],
  });
  let current = first;
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<number>((resolve, reject) => {
      const restart = () => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          onVerdict(current, `has not ended after ${DEADLINE_MS} ms`);
          resolve(current + 1);
        }, DEADLINE_MS);
      };
      worker.on('error', reject);
      worker.on('message', ({ index, state, verdict }: Report) => {
        current = index;
        if (state === 'done' && verdict !== undefined) onVerdict(index, verdict);
        if (index === allCases.length) resolve(index);
        restart();
      });
      restart();
      worker.postMessage(first);
    });
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

it('every parser takes linear time, and at most 50 ms for the largest input that it accepts', async () => {
  const found: string[] = [];
  for (let next = 0; next < allCases.length; ) {
    next = await measureFrom(next, (index, verdict) => {
      const { parser, shape } = allCases[index] ?? { parser: 'none', shape: '' };
      found.push(`${parser}, ${shape}: ${verdict}`);
    });
  }
  expect(found).toEqual([]);
}, 600_000);

/** Parsers that the cases call through other parsers, or that parse only data of this project. */
const REACHED_OTHERWISE: ReadonlySet<string> = new Set([
  // Called by canonicalQuantity.
  'parseQuantity',
  // Called by decodeObject.
  'decodeAs',
  'decodeStruct',
  // Called by validateLabels and validateAnnotations.
  'validateLabelRequirement',
  // Short lists in webhook configurations, which have their own limits.
  'validateReviewVersions',
  'validateAdmissionClient',
  'validateWebhookService',
  // Whole objects, whose parts are measured separately.
  'validateObjectMeta',
  'validateNew',
  'validateNewInTurns',
  'validateChange',
  'validateChangeInTurns',
  'validatePartChange',
]);

it('every exported parser has cases', () => {
  const covered = new Set(allCases.map(({ parser }) => (parser.split('/')[1] ?? '').split(' ')[0]));
  const names = [...Object.keys(apimachinery), ...Object.keys(objects)];
  const parsers = names.filter((name) => /^(?:parse|decode|read|canonical|validate)[A-Z]/.test(name));
  expect(parsers.filter((name) => !covered.has(name) && !REACHED_OTHERWISE.has(name))).toEqual([]);
});
