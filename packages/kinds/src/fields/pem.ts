/** A PEM block with its decoded body. */
export interface PemBlock {
  readonly type: string;
  readonly headers: 'none' | 'some';
  readonly der: Buffer;
}

/**
 * The blocks of a PEM text; other lines are skipped. Each line is read once, whatever its content: a Secret may contain a megabyte of
 * `BEGIN` lines.
 */
export function pemBlocks(pem: Buffer): PemBlock[] {
  const blocks: PemBlock[] = [];
  let open: { readonly type: string; headers: PemBlock['headers']; readonly body: string[] } | undefined;
  for (const line of pem.toString('latin1').split('\n')) {
    const text = line.trimEnd();
    const type = /^-----BEGIN (.*)-----$/.exec(text)?.[1];
    if (type !== undefined) open = { type, headers: 'none', body: [] };
    else if (open === undefined) continue;
    else if (text === `-----END ${open.type}-----`) {
      const body = open.body.join('');
      const { headers } = open;
      if (/^[A-Za-z0-9+/=\s]*$/.test(body)) blocks.push({ type: open.type, headers, der: Buffer.from(body, 'base64') });
      open = undefined;
    } else if (open.body.length > 0 || !text.includes(':')) open.body.push(text);
    else open.headers = 'some';
  }
  return blocks;
}
