import { AgentError } from '../runtime/agent-error.ts';

export const PASSWD = '/etc/passwd';
export const GROUP = '/etc/group';

/** The largest id that engines accept. */
const MAX_ID = 2 ** 31 - 1;
/** Images are hostile, and all of it is kept and sent to the engine. */
const MAX_GROUPS = 1_000;

/** A user of an image, by the image's own files. */
export interface ImageUser {
  readonly uid: number;
  readonly gid: number;
  /** Those that list the user, in their order, without `gid`. */
  readonly groups: readonly number[];
  /** Groups whose names are numbers of other groups: the engine takes a number for a name first. */
  readonly misnamed: ReadonlyMap<string, number>;
}

/** The texts of an image's files; '' for one that it does not have. */
export interface UserFiles {
  readonly passwd: string;
  readonly group: string;
}

/**
 * Who `USER` or `USER:GROUP` is in an image: as the engine reads its files (moby/sys/user), so that it makes no difference whether the
 * engine looks the user up or is told the ids. A number is an id, also where a user or group has it for a name; '' is 0. AgentError
 * 'CreateContainerError' for a name that is not in the files, and for what is no id.
 */
export function imageUser(wanted: string, { passwd, group }: UserFiles): ImageUser {
  const [user = '', groupName = ''] = wanted.split(':');
  const wantedId = numberOf(user === '' ? '0' : user);
  const found = entriesOf(passwd).find(([name = '', , id]) =>
    wantedId === undefined ? name === user : fieldNumber(id) === wantedId,
  );
  const uid = wantedId ?? (found === undefined ? undefined : fieldNumber(found[2]));
  if (uid === undefined) throw fault(`unable to find user ${user}: no matching entries in passwd file`);
  const groups = entriesOf(group);
  const gid = groupName === '' ? fieldNumber(found?.[3]) : groupId(groupName, groups);
  for (const id of [uid, gid]) {
    if (!isId(id)) throw fault(`the user ${user} has the id ${id}: uids and gids must be in range 0-${MAX_ID}`);
  }
  const isListed = ([, , , members = '']: readonly string[]) =>
    found !== undefined && members.split(',').includes(found[0] ?? '');
  const listed = groups.filter(isListed).map(([, , id]) => fieldNumber(id));
  const others = [...new Set(listed)].filter((id) => id !== gid && isId(id));
  const misnamed = new Map(
    groups
      .map(([name = '', , id]) => [name, fieldNumber(id)] as const)
      .filter(([name, id]) => /^\d+$/.test(name) && Number(name) !== id),
  );
  if (others.length > MAX_GROUPS || misnamed.size > MAX_GROUPS) {
    throw fault(`${GROUP} of the image has more than ${MAX_GROUPS} groups for the user ${user}`);
  }
  return { uid, gid, groups: others, misnamed };
}

function groupId(wanted: string, groups: readonly (readonly string[])[]): number {
  const id = numberOf(wanted);
  if (id !== undefined) return id;
  const found = groups.find(([name]) => name === wanted);
  if (found === undefined) throw fault(`unable to find group ${wanted}: no matching entries in group file`);
  return fieldNumber(found[2]);
}

function entriesOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => line.split(':'));
}

/** What engines read as a number. */
function numberOf(text: string): number | undefined {
  return /^[+-]?\d+$/.test(text) ? Number(text) : undefined;
}

/** A field that is no number counts as 0, as for the engine. */
function fieldNumber(field: string | undefined): number {
  return numberOf(field ?? '') ?? 0;
}

function isId(id: number): boolean {
  return id >= 0 && id <= MAX_ID;
}

function fault(message: string): AgentError {
  return new AgentError('CreateContainerError', message);
}
