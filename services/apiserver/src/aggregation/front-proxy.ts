import type { User } from '../auth/user.ts';

/** The common name of the certificate for extension servers. They may trust user headers only from this name. */
export const FRONT_PROXY = 'front-proxy-client';

export const USER_HEADERS = {
  username: 'X-Remote-User',
  uid: 'X-Remote-Uid',
  group: 'X-Remote-Group',
  extraPrefix: 'X-Remote-Extra-',
} as const;

/** The headers that name the user to an extension server. Headers of the client with the same names are removed. */
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

/** Percent-encodes characters that are invalid in a header name, and the percent sign itself. */
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

/** UTF-8 in the form that Node.js needs for headers: one character per byte. */
function latin(text: string): string {
  return Buffer.from(text).toString('latin1');
}
