import type { Random } from '@gantry/base';
import type { AdmissionCheck } from './admission-check.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { priority } from './priority.ts';
import { serviceAccount } from './service-account.ts';

export { requireActive } from './namespace-lifecycle.ts';
export type { AdmissionCheck, AdmissionReader, AdmissionRequest } from './admission-check.ts';

/** Every check, in the order in which they run. Adding one adds a file and a line here. */
export function createAdmissionChecks(options: {
  readonly random: Random;
  readonly defaultTolerationSeconds: number;
}): readonly AdmissionCheck[] {
  return [
    namespaceLifecycle,
    serviceAccount(options.random),
    defaultTolerationSeconds(options.defaultTolerationSeconds),
    priority,
  ];
}
