import { describe, expect, it } from 'vitest';
import { mountOf, mountsBelow, parseMountTable } from './mount-table.ts';

const TABLE = parseMountTable(`423 400 0:200 / / rw,relatime - overlay overlay rw
747 423 254:0 /volumes/state/_data /state rw,relatime shared:1 - ext4 /dev/vda rw
748 747 0:220 / /state/nodes/a/memory rw,nosuid shared:21 master:3 - tmpfs tmpfs rw,size=64k
749 747 254:0 /x /state/nodes/a/with\\040space rw shared:1 - ext4 /dev/vda rw
750 748 0:221 / /state/nodes/a/memory/inner rw master:1 - tmpfs tmpfs rw
751 423 0:5 / /state-of-others rw - proc proc rw
`);

describe('the table of mounts', () => {
  it('names what is mounted below a folder, the last first', () => {
    expect(mountsBelow(TABLE, '/state/nodes/a').map(({ path }) => path)).toEqual([
      '/state/nodes/a/memory/inner',
      '/state/nodes/a/with space',
      '/state/nodes/a/memory',
    ]);
    expect(mountsBelow(TABLE, '/state').map(({ path }) => path)).not.toContain('/state-of-others');
    expect(mountsBelow(TABLE, '/state/nodes/b')).toEqual([]);
  });

  it.each([
    ['/state', '/state', 'ext4', 'shared'],
    ['/state/nodes/a/memory/x', '/state/nodes/a/memory', 'tmpfs', 'shared'],
    ['/state/nodes/a/memory/inner', '/state/nodes/a/memory/inner', 'tmpfs', 'none'],
    ['/stateless', '/', 'overlay', 'none'],
  ])('%s lies on %s', (path, mount, fileSystem, propagation) => {
    expect(mountOf(TABLE, path)).toEqual({ path: mount, fileSystem, propagation });
  });
});
