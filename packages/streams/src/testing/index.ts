/** Clients of the streaming protocols for tests, which do what they are told, right or wrong. */
export { SpdyClient } from './spdy-client.ts';
export { openChannels, openSpdy, type StreamTarget, TunnelClient, upgrade } from './stream-clients.ts';
