import type { Clock } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import type { AgentAddress } from '../../agents/agent-connection.ts';
import type { AgentStreams } from '../../agents/agent-streams.ts';
import type { Upgrade } from '@gantry/streams';
import type { MessageShare } from '@gantry/streams';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';

/** A request for a stream that has been admitted, and where it leads. */
export interface StreamRequest {
  readonly exchange: AuthenticatedExchange;
  readonly upgrade: Upgrade;
  readonly pod: Pod;
  readonly agent: AgentAddress;
  readonly agents: AgentStreams;
  readonly clock: Clock;
  /** The user's share of memory for messages. */
  readonly messages: MessageShare;
}
