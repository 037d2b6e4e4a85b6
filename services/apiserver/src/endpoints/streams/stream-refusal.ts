import { StatusError } from '@gantry/objects';
import { AgentRefusedError } from '../../agents/agent-streams.ts';
import { sendText } from '../../http/respond.ts';
import { HandshakeError, NegotiationError } from '@gantry/streams';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';

/** A stream that the kubelet, which Kubernetes' API server forwards these requests to, refuses with a text. */
export class StreamRefusedError extends Error {
  override readonly name = 'StreamRefusedError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Answers what the kubelet refuses as it does: with a text, which kubectl prints after `unable to upgrade connection`. Throws others. */
export async function answerRefusal(exchange: AuthenticatedExchange, error: unknown): Promise<void> {
  if (error instanceof NegotiationError && error.accepted.length > 0) {
    exchange.res.setHeader('x-accepted-stream-protocol-versions', [...error.accepted]);
  }
  if (error instanceof HandshakeError) throw StatusError.badRequest(error.message);
  const isText =
    error instanceof NegotiationError || error instanceof StreamRefusedError || error instanceof AgentRefusedError;
  if (!isText) throw error;
  await sendText(exchange, error.code, error.message);
}
