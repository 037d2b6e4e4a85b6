import type { Clock } from '@gantry/base';
import type { WebSocket } from 'ws';
import { type CommandOptions, type CommandStreams, outcomeBytes } from './command-streams.ts';
import { finishWriting } from './finish-writing.ts';
import type { CommandChoice } from './stream-protocol.ts';
import { ChannelConnection } from './websocket/channel-connection.ts';

/** The channels of a command. The first three have the numbers of its file descriptors. */
const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

export interface WebSocketSurroundings {
  readonly clock: Clock;
  /** Called once; the argument returns the number of received bytes that were not read yet. */
  readonly limit: (queued: () => number) => void;
}

/** The streams of a command over the channels of a WebSocket. */
export function openWebSocketCommand(
  socket: WebSocket,
  { stdin, stdout, stderr, tty }: CommandOptions,
  { codec, halfClose, outcome }: Extract<CommandChoice, { kind: 'websocket' }>,
  { clock, limit }: WebSocketSurroundings,
): CommandStreams {
  const connection = new ChannelConnection(socket, {
    codec,
    halfClose,
    clock,
    channels: [
      stdin ? 'writes' : 'neither',
      stdout ? 'reads' : 'neither',
      stderr ? 'reads' : 'neither',
      'reads',
      tty ? 'writes' : 'neither',
    ],
  });
  limit(() => connection.queuedBytes);
  const channel = (is: boolean, name: keyof typeof CHANNEL) => (is ? connection.channel(CHANNEL[name]) : undefined);
  const output = channel(stdout, 'stdout');
  const errors = channel(stderr, 'stderr');
  const error = connection.channel(CHANNEL.error);
  // Tells the client that the connection is ready, as Kubernetes does.
  connection.announce(stdout ? CHANNEL.stdout : stderr ? CHANNEL.stderr : CHANNEL.error);
  return {
    stdin: channel(stdin, 'stdin'),
    stdout: output,
    stderr: errors,
    resize: channel(tty, 'resize'),
    ended: connection.ended,
    finish: async (how) => {
      await Promise.all([finishWriting(output, clock), finishWriting(errors, clock)]);
      await finishWriting(error, clock, outcomeBytes(how, outcome));
      connection.close();
    },
  };
}
