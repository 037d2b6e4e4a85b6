import type { Pieces } from '@gantry/base';
import { ExcessError } from './fetch-remote.ts';

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const OPENING: ReadonlySet<number | undefined> = new Set([0x7b, 0x5b]);
const CLOSING: ReadonlySet<number | undefined> = new Set([0x7d, 0x5d]);
/** The number of bytes that are read before other work may run. */
const PIECE_BYTES = 64 * 1024;
/** Maximum number of members. */
const MAX_MEMBERS = 10_000;

/**
 * The members of a JSON object, as texts that are not decoded, so that the members of a large object can be decoded one by one. The text may
 * be invalid; decoding the members shows it. Throws ExcessError for too many members.
 */
export function* membersOf(object: Buffer): Pieces<ReadonlyMap<string, Buffer>> {
  const members = new Map<string, Buffer>();
  let depth = 0;
  let isInString = false;
  let key: string | undefined;
  let start = 0;
  let pieceEnd = PIECE_BYTES;
  for (let at = 0; at < object.length; at++) {
    if (at >= pieceEnd) {
      yield;
      pieceEnd = at + PIECE_BYTES;
    }
    const byte = object[at];
    if (isInString) {
      if (byte === BACKSLASH) at++;
      else isInString = byte !== QUOTE;
      continue;
    }
    isInString = byte === QUOTE;
    if (OPENING.has(byte) && ++depth === 1) start = at + 1;
    const isEnd = CLOSING.has(byte) ? --depth === 0 : depth === 1 && byte === COMMA;
    if (isEnd && key !== undefined) {
      members.set(key, object.subarray(start, at));
      if (members.size > MAX_MEMBERS)
        throw new ExcessError(`an object of the OpenAPI document has more than ${MAX_MEMBERS} members`);
      key = undefined;
    }
    if (isEnd) start = at + 1;
    if (depth !== 1 || byte !== COLON) continue;
    key = String(JSON.parse(object.toString('utf8', start, at)));
    start = at + 1;
  }
  return members;
}
