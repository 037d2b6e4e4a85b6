/** The scheduler for benchmarks: without a process and an API server of its own. */
export { DecisionLoop } from './decision-loop.ts';
