import { create } from '@bufbuild/protobuf';
import { errorMessage } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import {
  ProcessExitSchema,
  type StreamInput,
  type StreamOutput,
  StreamOutputSchema,
  type StreamStart,
  StreamStartedSchema,
} from '@gantry/proto';
import type { GrpcCall, GrpcService } from '@gantry/service';
import { AgentError } from '../runtime/agent-error.ts';
import type { Owner } from '../runtime/labels.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { ProcessInput, ProcessOutput } from '../runtime/streams.ts';
import { findRunningContainer } from './find-in-pod.ts';
import { forwardPort } from './forward-port.ts';
import { StreamLimits } from './stream-limits.ts';
import type { StreamParts } from './stream-parts.ts';
import { requireApiServer } from '../identity/bootstrap-client.ts';

/** The agent's part of its gRPC service that streams into containers and pods of its node. */
export function streamHandlers(runtime: Runtime, owner: Owner): GrpcService['handlers'] {
  const parts = { runtime, owner, limits: new StreamLimits() };
  return {
    exec: { kind: 'duplex', handle: (requests, call) => join(parts, 'exec', requests, call) },
    attach: { kind: 'duplex', handle: (requests, call) => join(parts, 'attach', requests, call) },
    portForward: { kind: 'duplex', handle: (requests, call) => forwardPort(parts, requests, call) },
  };
}

async function* join(
  { runtime, owner, limits }: StreamParts,
  how: 'exec' | 'attach',
  requests: AsyncIterable<StreamInput>,
  call: GrpcCall,
): AsyncIterable<StreamOutput> {
  requireApiServer(call, 'pods', '', 'use streams');
  const iterator = requests[Symbol.asyncIterator]();
  const start = readStart(await iterator.next(), how);
  using _counted = limits.take(start.podUid);
  const { id } = await findRunningContainer(runtime, owner, start, call.signal);
  yield create(StreamOutputSchema, { part: { case: 'started', value: create(StreamStartedSchema) } });
  const { streams } = runtime;
  const options = {
    stdin: start.stdin,
    stdout: start.stdout,
    stderr: start.stderr,
    terminal: start.tty ? ('tty' as const) : ('none' as const),
  };
  const input = inputs(iterator);
  const outputs =
    how === 'exec'
      ? streams.execStream(id, start.command, options, input, call.signal)
      : streams.attach(id, options, input, call.signal);
  try {
    for await (const output of outputs) yield message(output);
  } catch (error) {
    throw call.signal.aborted ? call.signal.reason : streamError(error, how, start.container);
  }
}

function readStart(first: IteratorResult<StreamInput, unknown>, how: 'exec' | 'attach'): StreamStart {
  const part = first.done === true ? undefined : first.value.part;
  if (part?.case !== 'start') throw StatusError.badRequest('the first message of a stream must be its start');
  const { command, stdin, stdout, stderr, tty } = part.value;
  if (how === 'exec' && command.length === 0) {
    throw StatusError.badRequest('you must specify at least 1 command for the container');
  }
  if (tty && stderr) throw StatusError.badRequest('tty and stderr cannot both be true');
  if (!stdin && !stdout && !stderr) {
    throw StatusError.badRequest('you must specify at least 1 of stdin, stdout, stderr');
  }
  return part.value;
}

async function* inputs(iterator: AsyncIterator<StreamInput>): AsyncIterable<ProcessInput> {
  for (;;) {
    const next = await iterator.next();
    if (next.done === true) return;
    const { part } = next.value;
    switch (part.case) {
      case 'stdin':
        yield { kind: 'stdin', data: part.value };
        break;
      case 'stdinClosed':
        yield { kind: 'stdin-closed' };
        break;
      case 'resize':
        yield { kind: 'resize', width: part.value.width, height: part.value.height };
        break;
      case 'start':
        throw StatusError.badRequest('a stream starts only once');
      case undefined:
    }
  }
}

function message(output: ProcessOutput): StreamOutput {
  if (output.kind === 'exit') {
    const value = create(ProcessExitSchema, { code: output.exitCode });
    return create(StreamOutputSchema, { part: { case: 'exit', value } });
  }
  return create(StreamOutputSchema, { part: { case: output.kind, value: output.data } });
}

/** The kubelet's words; the container may have ended since it was found. */
function streamError(error: unknown, how: 'exec' | 'attach', container: string): unknown {
  if (!(error instanceof AgentError)) return error;
  if (error.code === 'NotFound' || /is not running|No such container/.test(error.message)) {
    return new StatusError('NotFound', `container not found (${JSON.stringify(container)})`);
  }
  const doing = how === 'exec' ? 'executing command in container' : 'attaching to container';
  return StatusError.internal(`error ${doing}: ${errorMessage(error)}`);
}
