/**
 * The server side of the streaming protocols of Kubernetes' clients: SPDY/3.1 (`spdy/`), channels over WebSockets (`websocket/`), SPDY
 * through WebSockets, and the messages of exec, attach, port-forward and logs in them. Nothing here depends on pods or agents.
 */
export {
  type CommandOutcome,
  type CommandStreams,
} from './command-streams.ts';
export { type ByteMessages, openByteMessages, openEventMessages } from './byte-messages.ts';
export { acceptUpgrade, joinConnections } from './join-connections.ts';
export { openCommand } from './open-command.ts';
export type { PortStreams } from './port-streams.ts';
export { servePorts } from './serve-ports.ts';
export {
  asksForUpgrade,
  type ByteChoice,
  chooseForBytes,
  chooseForCommand,
  chooseForPorts,
  NegotiationError,
} from './stream-protocol.ts';
export { HandshakeError } from './websocket/accept-websocket.ts';
export { MessageMemory, type MessageShare } from './websocket/message-memory.ts';
export { offerUpgrade, type Upgrade, type UpgradeExchange, upgradeOf } from './upgrades.ts';
export { release } from './release.ts';
export { writeTo } from './write-to.ts';
export { parsePorts } from './websocket-ports.ts';
