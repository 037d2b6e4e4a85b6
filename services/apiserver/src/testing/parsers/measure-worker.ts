import { parentPort } from 'node:worker_threads';
import { allCases } from './all-cases.ts';
import { measure } from './measure.ts';

/** Measures the cases from `first` on and reports each. If a case hangs, the test stops this worker. */
parentPort?.on('message', (first: number) => {
  for (const [index, one] of allCases.entries()) {
    if (index < first) continue;
    parentPort?.postMessage({ index, state: 'begun' });
    parentPort?.postMessage({ index, state: 'done', verdict: measure(one) });
  }
  parentPort?.postMessage({ index: allCases.length, state: 'begun' });
});
