/** Lets containers go on that something else than the agent has paused. Sandboxes are containers, too. */
export interface PauseRuntime {
  /** Idempotent: a container that is not paused or does not exist is not an error. AgentError 'Runtime' when the engine cannot. */
  unpause(id: string, signal: AbortSignal): Promise<void>;
}
