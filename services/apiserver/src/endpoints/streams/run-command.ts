import type { Readable } from 'node:stream';
import { create } from '@bufbuild/protobuf';
import { type StreamInput, StreamInputSchema, type StreamOutput } from '@gantry/proto';
import type { AgentCall } from '../../agents/agent-call.ts';
import { toAgentRefusal } from '../../agents/agent-streams.ts';
import type { CommandOutcome, CommandStreams } from '../../streams/index.ts';
import { TerminalSizes } from './terminal-sizes.ts';
import { writeTo } from './write-to.ts';

type Call = AgentCall<StreamInput, StreamOutput>;

/** Agents take at most 1 MiB at once. */
const MAX_INPUT_BYTES = 256 * 1024;

/** Copies between the client and the agent, no faster than the receiver reads, until the process has ended. Never rejects. */
export async function runCommand(
  call: Call,
  streams: CommandStreams,
  kind: 'exec' | 'attach',
): Promise<CommandOutcome> {
  const { stdin, resize } = streams;
  if (stdin !== undefined) void copyInput(call, stdin);
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

async function copyInput(call: Call, stdin: Readable): Promise<void> {
  try {
    for await (const chunk of stdin as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length; at += MAX_INPUT_BYTES) {
        const value = chunk.subarray(at, at + MAX_INPUT_BYTES);
        await call.send(create(StreamInputSchema, { part: { case: 'stdin', value } }));
      }
    }
    await call.send(create(StreamInputSchema, { part: { case: 'stdinClosed', value: {} } }));
  } catch {
    // The client has gone: its streams say so, and the call is cancelled.
  }
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
