/** A client of SPDY for tests. */
export { SpdyClient } from './spdy-client.ts';
