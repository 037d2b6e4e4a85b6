import { AgentError } from '../runtime/agent-error.ts';

const MAX_LINE = 2 ** 20;

/**
 * Splits a byte stream into lines of text. The engine's event stream has one JSON object per line, in arbitrary chunks. AgentError for a
 * line of more than 2^20 characters.
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array | string>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE)
      throw new AgentError('Runtime', `the engine sent a line of more than ${MAX_LINE} characters`);
    for (const line of lines) if (line.trim() !== '') yield line;
  }
  if (rest.trim() !== '') yield rest;
}
