import { expect, it } from 'vitest';
import { imageUser } from './image-user.ts';

const PASSWD = [
  'root:x:0:0:root:/root:/bin/sh',
  '  app:x:1000:1000::/home/app:/bin/sh  ',
  '',
  'double:x:1000:1001::/:/bin/sh',
  '1234:x:77:78::/:/bin/sh',
  'short:x:80',
  'odd:x:abc:+9::/:/bin/sh',
  'large:x:4294967296:1::/:/bin/sh',
  'negative:x:81:-5::/:/bin/sh',
].join('\n');
const GROUP = [
  'root:x:0:',
  'app:x:1000:app',
  'disk:x:50000:other,app',
  'again:x:50000:app',
  'tape:x:26:apps',
  'floppy:x:19:double',
  'wheel:x:10:root,app',
  'far:x:4294967295:app',
  '4000:x:0:',
  '05:x:5:',
].join('\n');

it.each([
  { user: '1000', ids: [1000, 1000], groups: [50_000, 10] },
  { user: 'app', ids: [1000, 1000], groups: [50_000, 10] },
  // Of several users with one id the engine takes the first.
  { user: '+1000', ids: [1000, 1000], groups: [50_000, 10] },
  { user: 'double', ids: [1000, 1001], groups: [19] },
  { user: '', ids: [0, 0], groups: [10] },
  { user: '00', ids: [0, 0], groups: [10] },
  // A number is an id, whatever user has it for a name.
  { user: '1234', ids: [1234, 0], groups: [] },
  { user: '77', ids: [77, 78], groups: [] },
  { user: 'short', ids: [80, 0], groups: [] },
  { user: 'odd', ids: [0, 9], groups: [] },
  { user: 'app:disk', ids: [1000, 50_000], groups: [1000, 10] },
  { user: '1000:4000', ids: [1000, 4000], groups: [1000, 50_000, 10] },
  { user: ':26', ids: [0, 26], groups: [10] },
])('user "$user" of an image has the ids $ids and the groups $groups', ({ user, ids, groups }) => {
  const found = imageUser(user, { passwd: PASSWD, group: GROUP });
  expect([found.uid, found.gid]).toEqual(ids);
  expect(found.groups).toEqual(groups);
});

it('an image without the files has root, and users by their ids', () => {
  const files = { passwd: '', group: '' };
  expect(imageUser('', files)).toMatchObject({ uid: 0, gid: 0, groups: [] });
  expect(imageUser('1000:3000', files)).toMatchObject({ uid: 1000, gid: 3000, groups: [] });
});

it('knows which numbers the engine would take for the names of other groups', () => {
  expect([...imageUser('', { passwd: PASSWD, group: GROUP }).misnamed]).toEqual([['4000', 0]]);
});

it.each([
  { user: 'www', message: 'unable to find user www: no matching entries in passwd file' },
  { user: 'app:www', message: 'unable to find group www: no matching entries in group file' },
  { user: 'large', message: 'the user large has the id 4294967296: uids and gids must be in range 0-2147483647' },
  { user: 'negative', message: 'the user negative has the id -5' },
  { user: '2147483648', message: 'the user 2147483648 has the id 2147483648' },
  { user: '-1', message: 'the user -1 has the id -1' },
])('user "$user" of an image is refused: $message', ({ user, message }) => {
  expect(() => imageUser(user, { passwd: PASSWD, group: GROUP })).toThrow(message);
});

it.each(['app', 'root'])('an image with more groups than a node keeps is refused: for $0', (member) => {
  const lines = Array.from({ length: 1001 }, (_, i) =>
    member === 'app' ? `g${i}:x:${i + 2000}:app` : `${i}:x:${i + 1}:`,
  );
  expect(() => imageUser(member, { passwd: PASSWD, group: lines.join('\n') })).toThrow(
    `/etc/group of the image has more than 1000 groups for the user ${member}`,
  );
});
