import { AgentError } from '../runtime/agent-error.ts';

export const PASSWD = '/etc/passwd';
export const GROUP = '/etc/group';

/** The largest id that engines accept. */
const MAX_ID = 2 ** 31 - 1;
/** Limits the groups that are stored and sent to the engine, since images are not trusted. */
const MAX_GROUPS = 1_000;

/** White space as in Go's bytes.TrimSpace: Unicode's, with one character for each byte of its UTF-8 encoding. */
const SPACE = /[\t-\r ]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80/.source;
const FIRST_SPACE = new RegExp(`^(?:${SPACE})`);
const LAST_SPACE = new RegExp(`(?:${SPACE})$`);
const MAX_SPACE_BYTES = 3;

/** A user according to the image's files. */
export interface ImageUser {
  readonly uid: number;
  readonly gid: number;
  /** Further groups that list the user, in file order, without `gid`. */
  readonly groups: readonly number[];
  /**
   * Groups whose names are numbers of other groups: the number in the name → the group's id. The engine looks a number up as a name
   * first. It compares texts, so '02000' is not a name of 2000.
   */
  readonly misnamed: ReadonlyMap<number, number>;
}

/** The contents of an image's files; empty for a missing file. */
export interface UserFiles {
  readonly passwd: Uint8Array;
  readonly group: Uint8Array;
}

/**
 * Resolves `USER` or `USER:GROUP` in an image like the engine does (moby/sys/user). So the result is the same whether the engine resolves
 * the user or gets the ids. A number is always an id, even if a user or group has this name; '' is uid 0. AgentError
 * 'CreateContainerError' for an unknown name or an invalid id. The result is stored, so it holds no reference to the files.
 */
export function imageUser(wanted: string, { passwd, group }: UserFiles): ImageUser {
  const [user = '', groupName = ''] = wanted.split(':');
  const wantedId = numberOf(user === '' ? '0' : user);
  const userName = bytewise(Buffer.from(user));
  const found = entriesOf(passwd).find(([name = '', , id]) =>
    wantedId === undefined ? name === userName : fieldNumber(id) === wantedId,
  );
  const uid = wantedId ?? (found === undefined ? undefined : fieldNumber(found[2]));
  if (uid === undefined) throw fault(`unable to find user ${user}: no matching entries in passwd file`);
  // Unlike in passwd, lines of the group file may be comments.
  const groups = entriesOf(group).filter(([name = '']) => !name.startsWith('#'));
  const gid = groupName === '' ? fieldNumber(found?.[3]) : groupId(groupName, groups);
  for (const id of [uid, gid]) {
    if (!isId(id)) throw fault(`the user ${user} has the id ${id}: uids and gids must be in range 0-${MAX_ID}`);
  }
  const [userOfId = ''] = found ?? [];
  // Without this check, a user without a name would be in every group with an empty member list.
  const isListed = ([, , , members = '']: readonly string[]) =>
    userOfId !== '' && members.split(',').includes(userOfId);
  const listed = groups.filter(isListed).map(([, , id]) => fieldNumber(id));
  const others = [...new Set(listed)].filter((id) => id !== gid && isId(id));
  const named = groups.map(([name = '', , id]) => ({ name, number: Number(name), id: fieldNumber(id) }));
  const misnamed = new Map(
    named
      .filter(({ name, number, id }) => String(number) === name && isId(number) && number !== id)
      .map(({ number, id }) => [number, id]),
  );
  if (others.length > MAX_GROUPS || misnamed.size > MAX_GROUPS) {
    throw fault(`${GROUP} of the image has more than ${MAX_GROUPS} groups for the user ${user}`);
  }
  return { uid, gid, groups: others, misnamed };
}

function groupId(wanted: string, groups: readonly (readonly string[])[]): number {
  const id = numberOf(wanted);
  if (id !== undefined) return id;
  const groupName = bytewise(Buffer.from(wanted));
  const found = groups.find(([name]) => name === groupName);
  if (found === undefined) throw fault(`unable to find group ${wanted}: no matching entries in group file`);
  return fieldNumber(found[2]);
}

function entriesOf(content: Uint8Array): readonly (readonly string[])[] {
  return bytewise(content)
    .split('\n')
    .map(trimSpace)
    .filter((line) => line !== '')
    .map((line) => line.split(':'));
}

/** One character per byte. The engine compares bytes, so two different names that are invalid UTF-8 must stay different. */
function bytewise(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

/** Runs in linear time. A search for `SPACE` at the end of a hostile line would not. */
function trimSpace(line: string): string {
  let start = 0;
  let end = line.length;
  for (;;) {
    const [space] = FIRST_SPACE.exec(line.slice(start, start + MAX_SPACE_BYTES)) ?? [];
    if (space === undefined) break;
    start += space.length;
  }
  for (;;) {
    const [space] = LAST_SPACE.exec(line.slice(Math.max(start, end - MAX_SPACE_BYTES), end)) ?? [];
    if (space === undefined) return line.slice(start, end);
    end -= space.length;
  }
}

/** Parses numbers like engines do. */
function numberOf(text: string): number | undefined {
  return /^[+-]?\d+$/.test(text) ? Number(text) : undefined;
}

/** Like in the engine, a field that is not a number counts as 0. */
function fieldNumber(field: string | undefined): number {
  return numberOf(field ?? '') ?? 0;
}

function isId(id: number): boolean {
  return Number.isInteger(id) && id >= 0 && id <= MAX_ID;
}

function fault(message: string): AgentError {
  return new AgentError('CreateContainerError', message);
}
