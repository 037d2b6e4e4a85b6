/**
 * For tests of operators: an API server in memory, a simulated clock, faults, and histories that a seed repeats.
 *
 * - `simulate`: runs histories with faults, and compares their ends
 * - `actors`: what other controllers and the kubelets do in a history
 * - `observed`: what a declared controller decides from, for a unit test
 * - `admit`: asks an admission webhook as the API server does
 * - `lost-by-conversion`: what the conversions of a kind in several versions lose
 */
export { admit, type Admitted, type AdmittedWrite, NotIdempotentError } from './admit.ts';
export { type Act, type Actor, actor, runDeployments, runJobs, runPods } from './actors.ts';
export { observed, type ObservedOptions } from './observed.ts';
export { lostByConversion } from './lost-by-conversion.ts';
export type { Faults } from '@gantry/controller-runtime/testing';
export type { Check, CrashFaults, ObjectsReader, Step } from './history.ts';
export {
  DEFAULT_FAULTS,
  type FailedHistory,
  simulate,
  type SimulateOptions,
  type SimulationReport,
  UnknownKindError,
} from './simulate.ts';
