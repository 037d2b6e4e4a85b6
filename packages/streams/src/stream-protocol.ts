import type { IncomingMessage } from 'node:http';
import { isWebSocketRequest, offeredProtocols } from './websocket/accept-websocket.ts';
import type { ChannelCodec } from './websocket/channel-connection.ts';

/** Subprotocols of exec and attach over SPDY, the newest first. */
export const COMMAND_PROTOCOLS = [
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
] as const;
/** The subprotocol of port-forward over SPDY. */
export const PORT_PROTOCOL = 'portforward.k8s.io';
/** The subprotocol of port-forward over SPDY in a WebSocket. */
export const PORT_TUNNEL = `SPDY/3.1+${PORT_PROTOCOL}`;

export type CommandProtocol = (typeof COMMAND_PROTOCOLS)[number];

/** The negotiated protocol of exec or attach. */
export type CommandChoice =
  | { readonly kind: 'spdy'; readonly protocol: CommandProtocol }
  | {
      readonly kind: 'websocket';
      /** '' if the client offered none. */
      readonly protocol: string;
      readonly codec: ChannelCodec;
      readonly halfClose: boolean;
      /** `status`: the outcome is sent as a Status in JSON. `text`: only a failure is sent, as text. */
      readonly outcome: 'status' | 'text';
    };

/** The negotiated protocol of port-forward. */
export type PortChoice =
  | { readonly kind: 'spdy' }
  | { readonly kind: 'tunnel' }
  | { readonly kind: 'websocket'; readonly protocol: string; readonly codec: ChannelCodec };

/** The negotiated protocol of a response of bytes. */
export interface ByteChoice {
  /** '' if the client offered none. */
  readonly protocol: string;
  readonly codec: ChannelCodec;
}

/** Client and server have no protocol in common, or the request is malformed. */
export class NegotiationError extends Error {
  override readonly name = 'NegotiationError';
  readonly code: 400 | 403;
  /** The protocols that the server supports. */
  readonly accepted: readonly string[];

  constructor(code: 400 | 403, message: string, accepted: readonly string[] = []) {
    super(message);
    this.code = code;
    this.accepted = accepted;
  }
}

const V5 = 'v5.channel.k8s.io';
const WEBSOCKET_COMMANDS: Readonly<
  Record<string, Omit<Extract<CommandChoice, { kind: 'websocket' }>, 'kind' | 'protocol'>>
> = {
  '': { codec: 'binary', halfClose: false, outcome: 'text' },
  'channel.k8s.io': { codec: 'binary', halfClose: false, outcome: 'text' },
  'base64.channel.k8s.io': { codec: 'base64', halfClose: false, outcome: 'text' },
  'v4.channel.k8s.io': { codec: 'binary', halfClose: false, outcome: 'status' },
  'v4.base64.channel.k8s.io': { codec: 'base64', halfClose: false, outcome: 'status' },
  [V5]: { codec: 'binary', halfClose: true, outcome: 'status' },
};
const WEBSOCKET_PORTS: Readonly<Record<string, ChannelCodec>> = {
  '': 'binary',
  'v4.channel.k8s.io': 'binary',
  'v4.base64.channel.k8s.io': 'base64',
};

const WEBSOCKET_BYTES: Readonly<Record<string, ChannelCodec>> = {
  '': 'binary',
  'binary.k8s.io': 'binary',
  'base64.binary.k8s.io': 'base64',
};

/** Whether the request asks to switch to another protocol. */
export function asksForUpgrade({ headers }: IncomingMessage): boolean {
  return (headers.connection ?? '').toLowerCase().includes('upgrade');
}

/** The protocol for exec and attach: the first one in the client's list that the server supports. Throws NegotiationError. */
export function chooseForCommand(req: IncomingMessage): CommandChoice {
  if (!isWebSocketRequest(req)) return { kind: 'spdy', protocol: chooseSpdy(req, COMMAND_PROTOCOLS) };
  checkHandshake(req);
  const offered = offeredProtocols(req);
  // v5, which has half-closes, is preferred at any position in the list.
  const protocol = offered.includes(V5) ? V5 : firstOf(offered, Object.keys(WEBSOCKET_COMMANDS));
  const how = WEBSOCKET_COMMANDS[protocol];
  if (how === undefined) throw unsupported(offered, Object.keys(WEBSOCKET_COMMANDS));
  return { kind: 'websocket', protocol, ...how };
}

/** The protocol for port-forward. Throws NegotiationError. */
export function chooseForPorts(req: IncomingMessage): PortChoice {
  if (!isWebSocketRequest(req)) {
    chooseSpdy(req, [PORT_PROTOCOL]);
    return { kind: 'spdy' };
  }
  checkHandshake(req);
  const offered = offeredProtocols(req);
  if (offered.includes(PORT_TUNNEL)) return { kind: 'tunnel' };
  const protocol = firstOf(offered, Object.keys(WEBSOCKET_PORTS));
  const codec = WEBSOCKET_PORTS[protocol];
  if (codec === undefined) throw unsupported(offered, Object.keys(WEBSOCKET_PORTS));
  return { kind: 'websocket', protocol, codec };
}

/** Checks what the library would reject, before anything is started for the request. */
function checkHandshake({ method, headers }: IncomingMessage): void {
  const isProper =
    method === 'GET' &&
    /^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '') &&
    ['8', '13'].includes(headers['sec-websocket-version'] ?? '');
  if (!isProper) throw new NegotiationError(400, 'unable to upgrade: the WebSocket handshake is invalid');
}

/** The protocol for a response of bytes; undefined if the request asks for no WebSocket. Throws NegotiationError. */
export function chooseForBytes(req: IncomingMessage): ByteChoice | undefined {
  if (!isWebSocketRequest(req)) return undefined;
  checkHandshake(req);
  const offered = offeredProtocols(req);
  const protocol = firstOf(offered, Object.keys(WEBSOCKET_BYTES));
  const codec = WEBSOCKET_BYTES[protocol];
  if (codec === undefined) throw unsupported(offered, Object.keys(WEBSOCKET_BYTES));
  return { protocol, codec };
}

function firstOf(offered: readonly string[], known: readonly string[]): string {
  if (offered.length === 0) return '';
  return offered.find((name) => known.includes(name)) ?? 'none';
}

function unsupported(offered: readonly string[], known: readonly string[]): NegotiationError {
  const supported = known.filter((name) => name !== '');
  return new NegotiationError(
    403,
    `requested protocol(s) are not supported: [${offered.join(' ')}]; supports [${supported.join(' ')}]`,
  );
}

/** The messages are Kubernetes'. Clients recognise them and fall back to an older protocol. */
function chooseSpdy<T extends string>(req: IncomingMessage, known: readonly T[]): T {
  const { headers } = req;
  const count = Object.keys(headers).length;
  const name = 'X-Stream-Protocol-Version';
  const asked = req.headersDistinct['x-stream-protocol-version'];
  if (asked === undefined) {
    throw new NegotiationError(
      400,
      `unable to upgrade: header ${name} does not exist in request with ${count} headers`,
    );
  }
  const offered = asked.flatMap((value) => value.split(',')).flatMap((one) => (one.trim() === '' ? [] : [one.trim()]));
  if (offered.length === 0) {
    throw new NegotiationError(
      400,
      `unable to upgrade: header ${name} contains [${asked.join(' ')}], but no valid protocols`,
    );
  }
  const chosen = offered.map((one) => known.find((own) => own === one)).find((one) => one !== undefined);
  if (chosen === undefined) {
    const message = `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(' ')}], server accepts [${known.join(' ')}]`;
    throw new NegotiationError(403, message, known);
  }
  if (!(headers.upgrade ?? '').toLowerCase().includes('spdy/3.1')) {
    throw new NegotiationError(400, 'unable to upgrade: missing upgrade headers in request');
  }
  return chosen;
}
