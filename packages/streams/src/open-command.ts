import type { Clock } from '@gantry/base';
import type { Upgrade, UpgradeExchange } from './upgrades.ts';
import type { CommandOptions, CommandStreams } from './command-streams.ts';
import { openSpdyCommand } from './spdy-command.ts';
import type { CommandChoice } from './stream-protocol.ts';
import { switchProtocol, takeOver } from './taken-connection.ts';
import { acceptWebSocket } from './websocket/accept-websocket.ts';
import { limitMessages, type MessageShare } from './websocket/message-memory.ts';
import { openWebSocketCommand } from './websocket-command.ts';

export interface CommandSurroundings {
  readonly clock: Clock;
  /** The share of the client's user. */
  readonly messages: MessageShare;
}

/**
 * Switches to the chosen protocol and returns the client's streams; undefined if the client does not open them in time. Rejects with
 * HandshakeError, after which the request can get an ordinary response.
 */
export async function openCommand(
  exchange: UpgradeExchange,
  upgrade: Upgrade,
  choice: CommandChoice,
  options: CommandOptions,
  { clock, messages }: CommandSurroundings,
): Promise<CommandStreams | undefined> {
  if (choice.kind === 'websocket') {
    const socket = acceptWebSocket(exchange.req, upgrade, choice.protocol);
    takeOver(exchange, upgrade);
    const limit = (queued: () => number) => limitMessages(socket, upgrade.socket, messages, queued);
    return openWebSocketCommand(socket, options, choice, { clock, limit });
  }
  const headers = { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': choice.protocol };
  switchProtocol(exchange, upgrade, headers);
  return openSpdyCommand({ ...options, transport: upgrade.socket, protocol: choice.protocol, clock });
}
