import { StatusError } from '@gantry/objects';

/** The longest line of a watch that is accepted, in characters. An object has 1.5 MiB at most, and its escapes. */
const MAX_LINE = 16 * 1024 * 1024;

/** The lines of a stream of text, without their ends. A last line without an end is incomplete and left out. Throws StatusError. */
export async function* linesOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const parts: string[] = [];
  let length = 0;
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      parts.push(text.slice(start, end));
      yield parts.join('');
      parts.length = 0;
      length = 0;
      start = end + 1;
    }
    if (start < text.length) parts.push(start === 0 ? text : text.slice(start));
    length += text.length - start;
    if (length > MAX_LINE) throw new StatusError('InternalError', `a line has more than ${MAX_LINE} characters`);
  }
}
