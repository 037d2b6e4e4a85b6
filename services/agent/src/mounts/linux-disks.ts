import { mkdir } from 'node:fs/promises';
import { AgentError } from '../runtime/agent-error.ts';
import { mountOf, mountTable } from './mount-table.ts';
import { tryProgram } from './run-program.ts';
import type { DiskMounts, DiskSource } from '../runtime/host-mounts.ts';

/** Where a program finds the first descriptor that it is given. */
const DEVICE = '/proc/self/fd/3';
/** For the lock of a device, which others have while they check it or make its file system: after it, the failure is reported. */
const LOCK_SECONDS = '60';
/** It becomes part of the name of a program, `mkfs.TYPE`. */
const FILE_SYSTEM = /^[a-z0-9][a-z0-9_-]*$/i;
/** As kubelet makes them: though the device has no partitions, and without blocks that only root may use. */
const FORMAT_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  ext3: ['-F', '-m0'],
  ext4: ['-F', '-m0'],
  xfs: ['-f'],
};

/**
 * What kubelet does (mount-utils, FormatAndMount), under a lock of the device: agents of several nodes may be on one host. A device that
 * is mounted already has been looked at. blkid(8) says 2 where it finds nothing, also where it cannot read, so the beginning of the device
 * is read before. Of fsck(8), 4 says that errors are left; where the shell is killed, it repairs on though its output has no reader. The
 * shell has the lock and becomes mount(8): once it is killed, nothing is mounted any more.
 */
const SCRIPT = `
trap '' PIPE
device=$1 number=$2 type=$3 options=$4 folder=$5 access=$6
shift 6
refuse() { echo "$1" >&2; exit 1; }
if ! grep -q "^[0-9]* [0-9]* $number " /proc/self/mountinfo; then
  head -c 1048576 "$device" >/dev/null || exit 1
  blkid -p -s TYPE -s PTTYPE "$device" >/dev/null
  case $? in
    0)
      if [ "$access" = read-write ]; then
        checked=$(fsck -a "$device" 2>&1)
        [ $? -ne 4 ] || refuse "'fsck' found errors on the device but could not correct them: $checked"
      fi ;;
    2)
      [ "$access" = read-write ] || refuse "cannot mount unformatted disk as we are manipulating it in read-only mode"
      "mkfs.$type" "$@" "$device" >/dev/null || refuse "format of disk failed: type:($type)" ;;
    *) refuse "failed to get disk format of disk" ;;
  esac
fi
exec mount --no-canonicalize -t "$type" -o "$options" "$device" "$folder"
`;

/**
 * By programs of util-linux and e2fsprogs in this process's mount namespace. Needs CAP_SYS_ADMIN, and in a container a control group that
 * allows block devices.
 */
export const linuxDisks: DiskMounts = {
  mountDisk: async (folder, open, source, signal) => {
    if (mountOf(await mountTable(), folder)?.path === folder) return 'kept';
    await using opened = await open();
    const { fileSystem, options, access } = source;
    if (!FILE_SYSTEM.test(fileSystem)) throw failed(source, 'it is no type of a file system');
    await mkdir(folder, { recursive: true });
    const number = deviceNumber((await opened.stat()).rdev);
    const mountOptions = ['defaults', ...options].join(',');
    const args = [DEVICE, number, fileSystem, mountOptions, folder, access, ...(FORMAT_OPTIONS[fileSystem] ?? [])];
    const locked = ['--exclusive', '--wait', LOCK_SECONDS, '--no-fork', DEVICE, 'sh', '-c', SCRIPT, 'sh', ...args];
    const failure = await tryProgram('flock', locked, { fds: [opened.fd], signal });
    if (failure === undefined) return 'made';
    const held = `the device has been locked by another process for ${LOCK_SECONDS} s`;
    throw failed(source, failure.output === '' ? held : failure.output);
  },
};

/** As in `/proc/self/mountinfo`; the bits of both numbers are those of Linux. */
export function deviceNumber(rdev: number): string {
  const id = BigInt(rdev);
  const major = ((id >> 8n) & 0xfffn) | ((id >> 32n) & ~0xfffn);
  const minor = (id & 0xffn) | ((id >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}

function failed({ path, fileSystem }: DiskSource, why: string): AgentError {
  return new AgentError('FailedMount', `local: failed to mount device ${path} (fstype: ${fileSystem}), error ${why}`);
}
