import { expect, it } from 'vitest';
import { AgentError } from '../runtime/agent-error.ts';
import type { LogOptions } from '../runtime/logs.ts';
import { container, exited } from '../testing/pods.ts';
import { TerminationMessages } from './termination-messages.ts';

const { signal } = new AbortController();
const FALLBACK = container('main', { terminationMessagePolicy: 'FallbackToLogsOnError' });

function messages(written: string, log: readonly (string | Buffer)[] | Error) {
  const asked: LogOptions[] = [];
  const read = new TerminationMessages({
    volumes: { terminationMessage: async () => written },
    logs: {
      readLogs: async function* (_id, options) {
        asked.push(options);
        if (log instanceof Error) throw log;
        for (const part of log) yield Buffer.from(part);
      },
    },
  });
  const of = async (state: Parameters<TerminationMessages['read']>[1][number], spec = FALLBACK) =>
    (await read.read('uid-1', [state], [spec], signal)).get(state.id);
  return { of, asked };
}

const failed = exited(1, { terminationMessagePath: '/x' });

it('the end of the log stands in for the message of a container that failed without one', async () => {
  const { of, asked } = messages('', ['one\n', 'two\n']);
  expect(await of(failed)).toBe('one\ntwo\n');
  expect(await of(failed)).toBe('one\ntwo\n');
  expect(asked).toEqual([{ follow: false, timestamps: false, tailLines: 80 }]);
});

it('the end of a long log is cut to 2048 bytes, at a whole character', async () => {
  expect(await messages('', ['a'.repeat(5000), 'b'.repeat(1000)]).of(failed)).toBe('a'.repeat(1048) + 'b'.repeat(1000));
  expect(await messages('', ['é'.repeat(1024), 'x']).of(failed)).toBe(`${'é'.repeat(1023)}x`);
});

it('the log is not read after success, beside a message, under the policy File, or for a container that never started', async () => {
  const { startedAt: _, ...unstarted } = failed;
  for (const [written, state, spec] of [
    ['', exited(0, { terminationMessagePath: '/x' }), FALLBACK],
    ['mine', failed, FALLBACK],
    ['', failed, container()],
    ['', unstarted, FALLBACK],
  ] as const) {
    const { of, asked } = messages(written, ['log']);
    expect([await of(state, spec), asked]).toEqual([state === unstarted ? undefined : written, []]);
  }
});

it('a log that cannot be read is what the message says', async () => {
  const { of } = messages('', new AgentError('Runtime', 'gone'));
  expect(await of(failed)).toBe('Error on reading termination message from logs: gone');
});
