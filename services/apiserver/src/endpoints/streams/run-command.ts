import type { Readable } from 'node:stream';
import { create } from '@bufbuild/protobuf';
import { type StreamInput, StreamInputSchema, type StreamOutput } from '@gantry/proto';
import type { AgentCall } from '../../agents/agent-call.ts';
import { toAgentRefusal } from '../../agents/agent-streams.ts';
import type { CommandOutcome, CommandStreams } from '@gantry/streams';
import { copyInput, type InputSender } from './copy-input.ts';
import { TerminalSizes } from './terminal-sizes.ts';
import { writeTo } from './write-to.ts';

type Call = AgentCall<StreamInput, StreamOutput>;

/** Copies between the client and the agent, no faster than the receiver reads, until the process has ended. Never rejects. */
export async function runCommand(
  call: Call,
  streams: CommandStreams,
  kind: 'exec' | 'attach',
): Promise<CommandOutcome> {
  const { stdin, resize } = streams;
  if (stdin !== undefined) void copyInput(stdin, stdinOf(call));
  if (resize !== undefined) void copySizes(call, resize);
  try {
    for (;;) {
      const part = (await call.next())?.part;
      if (part === undefined) {
        // A process that was attached to goes on, or has ended: its exit code is in the pod's status.
        if (kind === 'attach') return { kind: 'success' };
        return { kind: 'failure', message: 'error executing command in container: the agent gave no exit code' };
      }
      if (part.case === 'exit') return { kind: 'exit', code: part.value.code };
      if (part.case === 'stdout' && streams.stdout !== undefined) await writeTo(streams.stdout, part.value);
      if (part.case === 'stderr' && streams.stderr !== undefined) await writeTo(streams.stderr, part.value);
    }
  } catch (error) {
    const doing = kind === 'exec' ? 'error executing command in container' : 'error attaching to container';
    return { kind: 'failure', message: `${doing}: ${toAgentRefusal(error).message}` };
  }
}

function stdinOf(call: Call): InputSender {
  return {
    data: (value) => call.send(create(StreamInputSchema, { part: { case: 'stdin', value } })),
    end: () => call.send(create(StreamInputSchema, { part: { case: 'stdinClosed', value: {} } })),
  };
}

async function copySizes(call: Call, resize: Readable): Promise<void> {
  const sizes = new TerminalSizes();
  try {
    for await (const chunk of resize as AsyncIterable<Buffer>) {
      for (const value of sizes.read(chunk)) {
        await call.send(create(StreamInputSchema, { part: { case: 'resize', value } }));
      }
    }
  } catch {
    // The client has gone, or sends no sizes: the terminal keeps the last one.
  }
}
