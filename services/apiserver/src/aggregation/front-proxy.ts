import type { User } from '../auth/user.ts';

/** The common name in the certificate that we show extension servers: the only one whose word on users they may take. */
export const FRONT_PROXY = 'front-proxy-client';

export const USER_HEADERS = {
  username: 'X-Remote-User',
  uid: 'X-Remote-Uid',
  group: 'X-Remote-Group',
  extraPrefix: 'X-Remote-Extra-',
} as const;

/** The headers that tell an extension server who asks; those of the same names that the client has sent are taken away. */
export function userHeaders(
  user: User,
  sent: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string | readonly string[] | undefined>> {
  const prefix = USER_HEADERS.extraPrefix.toLowerCase();
  const claimed = Object.keys(sent).filter((name) => name.startsWith(prefix));
  const extra = Object.entries(user.extra).map(
    ([key, values]) => [`${prefix}${escaped(key)}`, values.map(latin)] as const,
  );
  return {
    ...Object.fromEntries(claimed.map((name) => [name, undefined])),
    [USER_HEADERS.username.toLowerCase()]: latin(user.name),
    [USER_HEADERS.uid.toLowerCase()]: user.uid === '' ? undefined : latin(user.uid),
    [USER_HEADERS.group.toLowerCase()]: user.groups.map(latin),
    ...Object.fromEntries(extra),
  };
}

/** Characters that may not stand in a header's name, and the percent sign itself, as percent escapes of their bytes. */
function escaped(key: string): string {
  const bytes = [...Buffer.from(key.toLowerCase())];
  return bytes
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[a-z0-9!#$&'*+.^_`|~-]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

/** UTF-8 bytes as Node.js wants them in headers. */
function latin(text: string): string {
  return Buffer.from(text).toString('latin1');
}
