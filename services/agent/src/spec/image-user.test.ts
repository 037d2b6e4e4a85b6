import { expect, it } from 'vitest';
import { imageUser } from './image-user.ts';

/** Returns the files of an image. A text is encoded in UTF-8. */
const files = (passwd: string | Buffer, group: string | Buffer) => ({
  passwd: Buffer.from(passwd as string),
  group: Buffer.from(group as string),
});

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
  // If several users have the same id, the engine uses the first one.
  { user: '+1000', ids: [1000, 1000], groups: [50_000, 10] },
  { user: 'double', ids: [1000, 1001], groups: [19] },
  { user: '', ids: [0, 0], groups: [10] },
  { user: '00', ids: [0, 0], groups: [10] },
  // A number is always an id, even if a user has this number as its name.
  { user: '1234', ids: [1234, 0], groups: [] },
  { user: '77', ids: [77, 78], groups: [] },
  { user: 'short', ids: [80, 0], groups: [] },
  { user: 'odd', ids: [0, 9], groups: [] },
  { user: 'app:disk', ids: [1000, 50_000], groups: [1000, 10] },
  { user: '1000:4000', ids: [1000, 4000], groups: [1000, 50_000, 10] },
  { user: ':26', ids: [0, 26], groups: [10] },
])('user "$user" of an image has the ids $ids and the groups $groups', ({ user, ids, groups }) => {
  const found = imageUser(user, files(PASSWD, GROUP));
  expect([found.uid, found.gid]).toEqual(ids);
  expect(found.groups).toEqual(groups);
});

it('an image without the files has root, and users by their ids', () => {
  const none = files('', '');
  expect(imageUser('', none)).toMatchObject({ uid: 0, gid: 0, groups: [] });
  expect(imageUser('1000:3000', none)).toMatchObject({ uid: 1000, gid: 3000, groups: [] });
});

it.each([
  // Unicode white space that the engine removes.
  ...[...'\t\v\f\r \u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000'].flatMap((space) => [
    { lines: `${space}4000:x:0:`, misnamed: [[4000, 0]] },
    { lines: `5000:x:5000${space}`, misnamed: [] },
  ]),
  { lines: ' \u0085\t\u30004000:x:0:', misnamed: [[4000, 0]] },
  { lines: '\n\u0085\n4000:x:0:\n \n', misnamed: [[4000, 0]] },
  // Other kinds of white space are part of the name or the number.
  { lines: '\ufeff4000:x:0:', misnamed: [] },
  { lines: '\u200b4000:x:0:', misnamed: [] },
  { lines: '\u180e4000:x:0:', misnamed: [] },
  { lines: '5000:x:5000\ufeff', misnamed: [[5000, 0]] },
  { lines: '5000:x:5000 :', misnamed: [[5000, 0]] },
  { lines: '4000 :x:0:', misnamed: [] },
  { lines: '#4000:x:0:', misnamed: [] },
  { lines: ' # 4000:x:0:\n4000', misnamed: [[4000, 0]] },
  // The engine gets numbers in the form in which they are written here, and compares them as texts.
  { lines: '04000:x:0:\n+4000:x:0:\n4000.0:x:0:\n4e3:x:0:\n-4:x:0:\n1.5:x:0:\nNaN:x:0:\nInfinity:x:0:', misnamed: [] },
  { lines: '2147483647:x:0:', misnamed: [[2_147_483_647, 0]] },
  { lines: `2147483648:x:0:\n${'4'.repeat(100_000)}:x:0:`, misnamed: [] },
  { lines: '4000:x:4000:\n05:x:5:', misnamed: [] },
  { lines: '4000:x:04000:', misnamed: [] },
])('knows which numbers the engine takes for the names of other groups: $lines', ({ lines, misnamed }) => {
  expect([...imageUser('', files('', lines)).misnamed]).toEqual(misnamed);
});

it.each([
  // These are single bytes, not the white space U+0085 and U+00A0.
  { bytes: '854000:x:0:', misnamed: [] },
  { bytes: 'a04000:x:0:', misnamed: [] },
  { bytes: 'c2854000:x:0:', misnamed: [[4000, 0]] },
])('reads the bytes of a file as they are: $bytes', ({ bytes, misnamed }) => {
  const [hex = '', rest = ''] = [bytes.slice(0, bytes.indexOf('4000')), bytes.slice(bytes.indexOf('4000'))];
  const group = Buffer.concat([Buffer.from(hex, 'hex'), Buffer.from(rest)]);
  expect([...imageUser('', files('', group)).misnamed]).toEqual(misnamed);
});

it('takes names that are no UTF-8 for different ones', () => {
  const passwd = Buffer.from('a\xff:x:5:0\nb\xfe:x:6:0\n', 'latin1');
  const group = Buffer.from('one:x:50:a\xff\ntwo:x:60:a\xfe\nthree:x:70:a\ufffd\n', 'latin1');
  expect(imageUser('5', files(passwd, group)).groups).toEqual([50]);
  expect(() => imageUser('b\ufffd', files(passwd, group))).toThrow('unable to find user b\ufffd');
  expect(() => imageUser('0:two\ufffd', files(passwd, group))).toThrow('unable to find group two\ufffd');
});

it('finds names of other alphabets', () => {
  expect(imageUser('bücher:größe', files('bücher:x:5:0\n', 'größe:x:6:\nklein:x:7:bücher\n'))).toMatchObject({
    ...{ uid: 5, gid: 6, groups: [7] },
  });
});

it('a user without a name is in no group', () => {
  expect(imageUser('5', files(':x:5:6\n', 'disk:x:50:\nempty:x:51:,\n')).groups).toEqual([]);
});

it('a line of a user is never a comment', () => {
  expect(imageUser('5', files('#app:x:5:6\n', 'disk:x:50:#app\n#tape:x:60:#app\n'))).toMatchObject({
    ...{ uid: 5, gid: 6, groups: [50] },
  });
});

it('reads a line of much white space in no time', () => {
  const spaces = ' \u3000'.repeat(200_000);
  expect([...imageUser('', files('', `${spaces}4000:x:0:${spaces}x${spaces}`)).misnamed]).toEqual([[4000, 0]]);
});

it.each([
  { user: 'www', message: 'unable to find user www: no matching entries in passwd file' },
  { user: 'app:www', message: 'unable to find group www: no matching entries in group file' },
  { user: 'large', message: 'the user large has the id 4294967296: uids and gids must be in range 0-2147483647' },
  { user: 'negative', message: 'the user negative has the id -5' },
  { user: '2147483648', message: 'the user 2147483648 has the id 2147483648' },
  { user: '-1', message: 'the user -1 has the id -1' },
])('user "$user" of an image is refused: $message', ({ user, message }) => {
  expect(() => imageUser(user, files(PASSWD, GROUP))).toThrow(message);
});

it.each(['app', 'root'])('an image with more groups than a node keeps is refused: for $0', (member) => {
  const lines = Array.from({ length: 1001 }, (_, i) =>
    member === 'app' ? `g${i}:x:${i + 2000}:app` : `${i}:x:${i + 1}:`,
  );
  expect(() => imageUser(member, files(PASSWD, lines.join('\n')))).toThrow(
    `/etc/group of the image has more than 1000 groups for the user ${member}`,
  );
});
