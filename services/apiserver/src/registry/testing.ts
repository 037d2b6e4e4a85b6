import { onTestFinished } from 'vitest';
import { createHarness, type Harness, type HarnessOptions } from '../testing/harness.ts';

export {
  ADMIN,
  WRITE,
  allowAll,
  createHarness,
  definitionOf,
  patchBody,
  jsonBody,
  type Harness,
} from '../testing/harness.ts';

/** A harness for one test. It stops at the end of the test. */
export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const harness = await createHarness(options);
  onTestFinished(() => harness.stop());
  return harness;
}
