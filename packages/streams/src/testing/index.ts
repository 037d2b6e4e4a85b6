/** Clients of the streaming protocols for tests. They can also violate the protocols. */
export { SpdyClient } from './spdy-client.ts';
export { openChannels, openSpdy, type StreamTarget, TunnelClient, upgrade } from './stream-clients.ts';
