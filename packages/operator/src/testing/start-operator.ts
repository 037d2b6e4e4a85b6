import type { ManualClock } from '@gantry/base/testing';
import type { FakeObjectClient } from '@gantry/client/testing';
import { silentLogger } from '@gantry/service';
import type { Controller } from '../controller.ts';
import { createOperator } from '../operator.ts';

interface StartOptions {
  readonly client: FakeObjectClient;
  readonly clock: ManualClock;
  /** Stops the operator. */
  readonly signal: AbortSignal;
}

/** Runs an operator of one controller, for tests of this package. `errors` are those of its reconciles. */
export async function startOperator(
  controller: Controller,
  { client, clock, signal }: StartOptions,
): Promise<{ readonly errors: readonly unknown[]; readonly ended: Promise<void> }> {
  const errors: unknown[] = [];
  const ended = createOperator({
    name: 'op',
    controllers: [controller],
    cluster: { client, namespace: 'a', [Symbol.dispose]: () => undefined },
    clock,
    random: () => 0.5,
    logger: { ...silentLogger, warn: (fields: object) => errors.push((fields as { err?: unknown }).err) },
  }).runUntil(signal);
  await clock.advance(0);
  return { errors, ended };
}
