/** The header's fields that tests choose. */
export interface Header {
  readonly index?: number;
  readonly epoch?: number;
  readonly electionKey?: string;
  readonly incarnation?: string;
  readonly writer?: string;
}

/** A value of `/registry/` as docs/storage.md describes it. */
export function encodeStored(object: object, header: Header = {}): Buffer {
  const { index = 0, epoch = 0, electionKey = '', incarnation = '', writer = 'test' } = header;
  const texts = [writer, electionKey, incarnation].map((text) => Buffer.from(text));
  const fixed = Buffer.alloc(30);
  fixed[0] = 1;
  fixed[2] = index;
  fixed.writeUInt16BE(fixed.length + texts.reduce((sum, text) => sum + 1 + text.length, 0), 4);
  fixed.writeBigUInt64BE(BigInt(epoch), 22);
  const parts = texts.flatMap((text) => [Buffer.from([text.length]), text]);
  return Buffer.concat([fixed, ...parts, Buffer.from(JSON.stringify(object))]);
}
