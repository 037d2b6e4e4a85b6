import { backoffMs, errorMessage, type Instant, type Random } from '@gantry/base';
import { AgentError } from '../agent-error.ts';
import type { Setback } from './pod-memory.ts';

const PULL = { initialMs: 10_000, maxMs: 300_000, jitter: 0 };
const OTHER = { initialMs: 1_000, maxMs: 30_000, jitter: 0.1 };

/** Kubernetes' waiting reason for an error on the way to a running container. */
function reasonOf(error: unknown): string {
  if (!(error instanceof AgentError)) return 'CreateContainerError';
  switch (error.code) {
    case 'ErrImagePull':
    case 'ErrImageNeverPull':
    case 'InvalidImageName':
    case 'CreateContainerConfigError':
    case 'RunContainerError':
      return error.code;
    case 'AddressInUse':
    case 'Conflict':
    case 'CreateContainerError':
    case 'FailedMount':
    case 'Identity':
    case 'ImageNotFound':
    case 'NoAddress':
    case 'NotFound':
    case 'Runtime':
      return 'CreateContainerError';
  }
}

/** What is remembered of a failed step: when to try again, longer after each failure in a row. */
export function setbackAfter(error: unknown, before: Setback | undefined, now: Instant, random: Random): Setback {
  const reason = reasonOf(error);
  const failures = before?.reason === reason ? before.failures + 1 : 1;
  const delayMs = backoffMs(reason === 'ErrImagePull' ? PULL : OTHER, failures, random);
  return { reason, message: errorMessage(error), failures, failedAt: now, retryAt: now + delayMs };
}
