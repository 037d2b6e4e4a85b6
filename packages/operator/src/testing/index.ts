/**
 * For tests of operators: an API server in memory, a simulated clock, faults, and histories that a seed repeats.
 *
 * - `simulate`: runs histories with faults, and compares their ends
 */
export type { Faults } from '@gantry/controller-runtime/testing';
export type { CrashFaults, ObjectsReader, Step } from './history.ts';
export {
  DEFAULT_FAULTS,
  type FailedHistory,
  simulate,
  type SimulateOptions,
  type SimulationReport,
  UnknownKindError,
} from './simulate.ts';
