import { SCRIPTS } from '../../runtime/testing/streams-contract.ts';
import type { ProcessOutput } from '../../runtime/streams.ts';
import type { HollowProcess, HollowStreamBehaviour } from '../hollow-streams.ts';

type Program = (process: HollowProcess) => AsyncIterable<ProcessOutput>;

const stdout = (text: string): ProcessOutput => ({ kind: 'stdout', data: Buffer.from(text) });
const stderr = (text: string): ProcessOutput => ({ kind: 'stderr', data: Buffer.from(text) });
const forever = () => new Promise<never>(() => undefined);

async function* none(): AsyncIterable<never> {}

/** The behaviour of the contract's scripts. */
const PROGRAMS: Readonly<Record<string, Program>> = {
  [SCRIPTS.copy]: async function* ({ options: { stdin = none() } }) {
    for await (const data of stdin) yield { kind: 'stdout', data };
    yield stderr('done\n');
    yield { kind: 'exit', exitCode: 3 };
  },
  [SCRIPTS.family]: async function* () {
    yield stdout('begun\n');
    await forever();
  },
  [SCRIPTS.window]: async function* ({ options: { sizes = none() } }) {
    for await (const { width, height } of sizes) yield stdout(`${height} ${width}\n`);
  },
  [SCRIPTS.greeter]: async function* ({ spec, options: { stdin = none() } }) {
    for await (const data of stdin) {
      const line = Buffer.from(data).toString().trim();
      yield stdout(`got ${line}\n`);
      yield stderr(`saw ${line}\n`);
    }
    if (spec.stdin === 'open-once') yield stdout('closed\n');
    await forever();
  },
  [SCRIPTS.idle]: async function* () {
    await forever();
  },
};

/** The behaviour of containers that run the contract's scripts. Other commands print a line and fail. */
export const SCRIPT_BEHAVIOUR: HollowStreamBehaviour = {
  exec: () => ({ exitCode: 3, output: 'out\n' }),
  run: (process) => {
    const { spec, command = spec.command ?? [] } = process;
    return (PROGRAMS[command[2] ?? ''] ?? other)(process);
  },
  serve: (_spec, port, input) => {
    if (port === 8080) return input;
    if (port === 8081) return website();
    return undefined;
  },
};

async function* other(): AsyncIterable<ProcessOutput> {
  yield { kind: 'exit', exitCode: 0 };
}

async function* website(): AsyncIterable<Uint8Array> {
  yield Buffer.from('HTTP/1.0 200 OK\r\n\r\nhello\n');
}
