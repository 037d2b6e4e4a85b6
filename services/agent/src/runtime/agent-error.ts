/** Why a step on this node failed. Codes that become container states are Kubernetes' reasons. */
export type AgentErrorCode =
  | 'AddressInUse'
  | 'ConnectFailed'
  | 'Conflict'
  | 'CreateContainerConfigError'
  | 'CreateContainerError'
  | 'ErrImageNeverPull'
  | 'ErrImagePull'
  | 'FailedMapVolume'
  | 'FailedMount'
  | 'Identity'
  | 'ImageNotFound'
  | 'InvalidImageName'
  | 'InvalidManifest'
  | 'NoAddress'
  | 'NotFound'
  | 'Outdated'
  | 'PostStartHookError'
  | 'Runtime'
  | 'RunContainerError';

/** A failure of the agent's own work: runtime, volumes, identity. Errors of the API stay StatusErrors. */
export class AgentError extends Error {
  override readonly name = 'AgentError';
  readonly code: AgentErrorCode;

  constructor(code: AgentErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}

/** Whether `error` is an AgentError with this code. */
export function isAgentError(error: unknown, code: AgentErrorCode): error is AgentError {
  return error instanceof AgentError && error.code === code;
}
