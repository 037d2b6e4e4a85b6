import type { Duplex } from 'node:stream';
import type { Clock } from '@gantry/base';
import type { CommandOptions, CommandOutcome, CommandStreams } from './command-streams.ts';
import { outcomeBytes } from './command-streams.ts';
import { finishWriting } from './finish-writing.ts';
import { SpdyConnection } from './spdy/spdy-connection.ts';
import type { SpdyStream } from './spdy/spdy-stream.ts';
import type { CommandProtocol } from './stream-protocol.ts';

/** The names of a command's streams in the header `streamType`. */
type StreamType = 'stdin' | 'stdout' | 'stderr' | 'error' | 'resize';

/** The time limit for a client to open its streams, as in the kubelet. */
export const STREAM_CREATION_MS = 30_000;

interface SpdyCommandOptions extends CommandOptions {
  readonly transport: Duplex;
  readonly protocol: CommandProtocol;
  readonly clock: Clock;
}

/** The streams of a command over SPDY. The client opens them one by one; the result is undefined if it does not open all in time. */
export async function openSpdyCommand(options: SpdyCommandOptions): Promise<CommandStreams | undefined> {
  const { transport, protocol, clock } = options;
  const wanted = wantedStreams(options);
  const streams = new Map<string, SpdyStream>();
  const ended = new AbortController();
  const { promise: opened, resolve } = Promise.withResolvers<'complete' | 'incomplete'>();
  const connection = new SpdyConnection({
    transport,
    clock,
    accepts: (headers) => {
      const type = headers.get('streamtype') ?? '';
      return wanted.some((one) => one === type) && !streams.has(type);
    },
    onStream: (stream) => {
      streams.set(stream.headers.get('streamtype') ?? '', stream);
      if (streams.size === wanted.length) resolve('complete');
    },
  });
  void connection.serve().then(() => {
    ended.abort();
    resolve('incomplete');
  });
  const cancel = clock.setTimer(STREAM_CREATION_MS, () => resolve('incomplete'));
  const outcome = await opened;
  cancel();
  if (outcome === 'incomplete') {
    connection.close();
    return undefined;
  }
  const stream = (type: StreamType): SpdyStream | undefined => streams.get(type);
  return {
    stdin: stream('stdin'),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    resize: stream('resize'),
    ended: ended.signal,
    finish: async (how: CommandOutcome) => {
      await Promise.all([finishWriting(stream('stdout'), clock), finishWriting(stream('stderr'), clock)]);
      const text = outcomeBytes(how, protocol === 'v4.channel.k8s.io' ? 'status' : 'text');
      await finishWriting(stream('error'), clock, text);
      connection.close();
    },
  };
}

function wantedStreams({ stdin, stdout, stderr, tty, protocol }: SpdyCommandOptions): readonly StreamType[] {
  const resizes = tty && (protocol === 'v4.channel.k8s.io' || protocol === 'v3.channel.k8s.io');
  const all: readonly (StreamType | false)[] = [
    'error',
    stdin && 'stdin',
    stdout && 'stdout',
    stderr && 'stderr',
    resizes && 'resize',
  ];
  return all.filter((one) => one !== false);
}
