import { backoffMs, errorMessage, type Instant, type Random } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';

const PULL = { initialMs: 10_000, maxMs: 300_000, jitter: 0 };
const OTHER = { initialMs: 1_000, maxMs: 30_000, jitter: 0.1 };
/** Reasons of failures before the container could be created. */
const IMAGE_REASONS: ReadonlySet<string> = new Set(['ErrImagePull', 'ErrImageNeverPull', 'InvalidImageName']);

/** A failed step; it is tried again at `retryAt`. */
export interface BackOffEntry {
  /** Kubernetes' waiting reason: ErrImagePull, CreateContainerConfigError, … */
  readonly reason: string;
  readonly message: string;
  readonly failures: number;
  readonly failedAt: Instant;
  readonly retryAt: Instant;
}

/** Whether the step failed on the container's image. */
export function isImageFailure({ reason }: BackOffEntry): boolean {
  return IMAGE_REASONS.has(reason);
}

/** The entry for a failed step. The delay grows with each consecutive failure of the same reason. */
export function backOffAfter(
  error: unknown,
  before: BackOffEntry | undefined,
  now: Instant,
  random: Random,
): BackOffEntry {
  const reason = reasonOf(error);
  const failures = before?.reason === reason ? before.failures + 1 : 1;
  const delayMs = backoffMs(reason === 'ErrImagePull' ? PULL : OTHER, failures, random);
  return { reason, message: errorMessage(error), failures, failedAt: now, retryAt: now + delayMs };
}

/** Kubernetes' waiting reason for a failed step. */
function reasonOf(error: unknown): string {
  if (!(error instanceof AgentError)) return 'CreateContainerError';
  switch (error.code) {
    case 'ErrImagePull':
    case 'ErrImageNeverPull':
    case 'InvalidImageName':
    case 'CreateContainerConfigError':
    case 'PostStartHookError':
    case 'RunContainerError':
      return error.code;
    case 'AddressInUse':
    case 'ConnectFailed':
    case 'Conflict':
    case 'CreateContainerError':
    case 'FailedMapVolume':
    case 'FailedMount':
    case 'Identity':
    case 'ImageNotFound':
    case 'InvalidManifest':
    case 'NoAddress':
    case 'NotFound':
    case 'Outdated':
    case 'Runtime':
      return 'CreateContainerError';
  }
}
